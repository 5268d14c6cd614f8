// Line charts in SVG. Curves differ in colour, dash and marker, so that any one of the three suffices.

import { el, shown, svg } from "./dom.js";
import { extent, scale } from "./scale.js";

const MARGIN = { top: 12, right: 14, bottom: 40, left: 56 };
const MARKERS = {
  circle: (r) => `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0`,
  square: (r) => `M${-r},${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
  triangle: (r) => `M0,${-1.2 * r}L${1.1 * r},${0.9 * r}H${-1.1 * r}z`,
  diamond: (r) => `M0,${-1.3 * r}L${1.3 * r},0L0,${1.3 * r}L${-1.3 * r},0z`,
};

/**
 * Draw into `box`. `series`: {label, look, x, y} curves, {label, look, level} horizontal lines, {.., points: true, error}
 * points with error bars, {.., area: true} filled curves, {label, look, stems} vertical marks.
 */
export function draw(box, { series, xlabel, ylabel, xlog = false, ylog = false, xrange, yrange, here, title, height = 300 }) {
  const width = Math.max(260, Math.round(box.clientWidth || 560));
  const xs = series.flatMap((s) => [...(s.x ?? []), ...(s.stems ?? [])]);
  const ys = series.flatMap((s) => (s.level !== undefined ? [s.level] : s.error ? around(s) : s.y ?? []));
  const x = scale(xrange ?? extent(xs, { log: xlog, zero: false, air: 0.02 }), [MARGIN.left, width - MARGIN.right], xlog);
  const y = scale(yrange ?? extent(ys, { log: ylog }), [height - MARGIN.bottom, MARGIN.top], ylog);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": summary(title, series) });
  picture.append(frame(x, y, width, height, xlabel, ylabel));
  if (here !== undefined && here >= x.domain[0] && here <= x.domain[1]) {
    picture.append(svg("line", { class: "here", x1: x(here), x2: x(here), y1: MARGIN.top, y2: height - MARGIN.bottom }));
  }
  for (const one of series) picture.append(mark(one, x, y));
  box.replaceChildren(picture, legend(series));
  follow(box, picture, series, x, y, xlabel);
}

const around = ({ y, error }) => y.flatMap((v, i) => (v === null ? [] : [v - (error[i] ?? 0), v + (error[i] ?? 0)]));

function frame(x, y, width, height, xlabel, ylabel) {
  const group = svg("g", { class: "frame" });
  const bottom = height - MARGIN.bottom;
  for (const tick of y.ticks) {
    group.append(
      svg("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(tick), y2: y(tick) }),
      svg("text", { x: MARGIN.left - 7, y: y(tick) + 4, "text-anchor": "end" }, shown(tick)),
    );
  }
  for (const tick of x.ticks) {
    group.append(
      svg("line", { class: "tick", x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 4 }),
      svg("text", { x: x(tick), y: bottom + 17, "text-anchor": "middle" }, shown(tick)),
    );
  }
  const middle = (MARGIN.top + bottom) / 2;
  group.append(
    svg("line", { class: "axis", x1: MARGIN.left, x2: width - MARGIN.right, y1: bottom, y2: bottom }),
    svg("text", { class: "name", x: (MARGIN.left + width - MARGIN.right) / 2, y: height - 5, "text-anchor": "middle" }, xlabel),
    svg("text", { class: "name", transform: `translate(13 ${middle}) rotate(-90)`, "text-anchor": "middle" }, ylabel),
  );
  return group;
}

function mark(one, x, y) {
  const group = svg("g", { class: `series ${one.look}` });
  const clampedY = (value) => Math.max(MARGIN.top - 4, Math.min(y(y.domain[0]) + 4, y(value)));
  if (one.level !== undefined) {
    if (one.level !== null) group.append(svg("line", { class: "curve", x1: x(x.domain[0]), x2: x(x.domain[1]), y1: clampedY(one.level), y2: clampedY(one.level) }));
    return group;
  }
  if (one.stems) {
    const bottom = y(y.domain[0]), top = y(y.domain[1]);
    for (const at of one.stems) {
      if (at === null || at < x.domain[0] || at > x.domain[1]) continue;
      group.append(svg("line", { class: "curve", x1: x(at), x2: x(at), y1: bottom, y2: bottom - 0.4 * (bottom - top) }));
      group.append(svg("path", { class: "marker", d: MARKERS[one.marker ?? "diamond"](5), transform: `translate(${x(at)} ${bottom - 0.4 * (bottom - top)})` }));
    }
    return group;
  }
  if (!one.points) {
    const d = path(one, x, clampedY);
    if (one.area && d) group.append(svg("path", { class: "area", d: `${d}V${y(y.domain[0])}H${x(one.x[0])}z` }));
    group.append(svg("path", { class: "curve", d }));
    if (one.marker) {
      const every = Math.max(1, Math.round(one.x.length / 9));
      one.x.forEach((v, i) => {
        if (i % every === Math.floor(every / 2) && one.y[i] !== null) group.append(svg("path", { class: "marker", d: MARKERS[one.marker](3.5), transform: `translate(${x(v)} ${clampedY(one.y[i])})` }));
      });
    }
    return group;
  }
  one.x.forEach((v, i) => {
    if (one.y[i] === null) return;
    const error = one.error?.[i];
    if (error) {
      const [low, high] = [clampedY(Math.max(one.y[i] - error, y.log ? y.domain[0] : -Infinity)), clampedY(one.y[i] + error)];
      group.append(svg("path", { class: "bar", d: `M${x(v)},${low}V${high}M${x(v) - 4},${low}h8M${x(v) - 4},${high}h8` }));
    }
    group.append(svg("path", { class: "marker", d: MARKERS[one.marker ?? "circle"](4), transform: `translate(${x(v)} ${clampedY(one.y[i])})` }));
  });
  return group;
}

function path(one, x, y) {
  let d = "", pen = false;
  one.x.forEach((v, i) => {
    if (one.y[i] === null || v === null) pen = false;
    else {
      d += `${pen ? "L" : "M"}${x(v).toFixed(2)},${y(one.y[i]).toFixed(2)}`;
      pen = true;
    }
  });
  return d;
}

export function legend(series) {
  const list = el("ul", { class: "legend" });
  for (const one of series.filter((s) => s.label)) {
    const sample = svg("svg", { width: 34, height: 14, viewBox: "0 0 34 14", "aria-hidden": "true" });
    const group = svg("g", { class: `series ${one.look}` });
    if (one.area) group.append(svg("rect", { class: "area", x: 1, y: 3, width: 32, height: 9 }));
    if (!one.points) group.append(svg("line", { class: "curve", x1: 1, x2: 33, y1: 7, y2: 7 }));
    if (one.points || one.marker) group.append(svg("path", { class: "marker", d: MARKERS[one.marker ?? "circle"](3.5), transform: "translate(17 7)" }));
    sample.append(group);
    list.append(el("li", {}, sample, one.label));
  }
  return list;
}

/** A line that follows the pointer, with the curves' values there. */
function follow(box, picture, series, x, y, xlabel) {
  const line = svg("line", { class: "pointer", y1: MARGIN.top, y2: y(y.domain[0]), visibility: "hidden" });
  const readout = el("p", { class: "readout", hidden: true });
  picture.append(line);
  box.append(readout);
  const curves = series.filter((s) => s.x && s.label);
  const hide = () => {
    line.setAttribute("visibility", "hidden");
    readout.hidden = true;
  };
  picture.addEventListener("pointermove", (event) => {
    const place = picture.getBoundingClientRect();
    const pixel = ((event.clientX - place.left) / place.width) * picture.viewBox.baseVal.width;
    if (pixel < x(x.domain[0]) || pixel > x(x.domain[1]) || !curves.length) return hide();
    const at = x.invert(pixel);
    line.setAttribute("x1", pixel);
    line.setAttribute("x2", pixel);
    line.setAttribute("visibility", "visible");
    const values = curves.map((s) => `${s.label}: ${shown(s.y[nearest(s.x, at)], 4)}`);
    readout.textContent = `${xlabel.split(",")[0]} ≈ ${shown(at, 3)} · ${values.join(" · ")}`;
    readout.hidden = false;
    return undefined;
  });
  picture.addEventListener("pointerleave", hide);
}

const nearest = (values, at) =>
  values.reduce((best, v, i) => (v !== null && Math.abs(v - at) < Math.abs(values[best] - at) ? i : best), 0);

function summary(title, series) {
  const parts = series.filter((s) => s.label && s.y?.some((v) => v !== null)).map((s) => {
    const first = s.y.findIndex((v) => v !== null), last = s.y.findLastIndex((v) => v !== null);
    return `${s.label} goes from ${shown(s.y[first], 3)} at ${shown(s.x[first], 3)} to ${shown(s.y[last], 3)} at ${shown(s.x[last], 3)}`;
  });
  return `${title}. ${parts.join("; ")}`;
}
