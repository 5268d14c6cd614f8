// A map of the error over two logarithmic axes: shades, level lines in numbers, and marks on it.

import { el, shown, svg } from "./dom.js";
import { scale } from "./scale.js";

const MARGIN = { top: 12, right: 14, bottom: 40, left: 56 };
const SHADES = [[13, 43, 89], [22, 86, 140], [38, 130, 160], [79, 170, 160], [150, 205, 150], [222, 232, 160], [252, 248, 210]];

const TAIL = 0.85; // share of the values that the shades tell apart

/** `values[i][j]` at x[i], y[j]; `marks`: {x, y, look, label}. */
export function drawMap(box, { x: xs, y: ys, values, marks, xlabel, ylabel, title, height = 300 }) {
  const width = Math.max(260, Math.round(box.clientWidth || 560));
  const flat = values.flat().filter((v) => v !== null && v > 0);
  const sorted = flat.toSorted((a, b) => a - b);
  const low = sorted[0], high = sorted[Math.floor(TAIL * (sorted.length - 1))]; // errors explode in corners: one shade
  const shade = (v) => colour(high > low ? Math.log(v / low) / Math.log(high / low) : 0);
  const edgesX = edges(xs), edgesY = edges(ys);
  const x = scale([edgesX[0], edgesX.at(-1)], [MARGIN.left, width - MARGIN.right], true);
  const y = scale([edgesY[0], edgesY.at(-1)], [height - MARGIN.bottom, MARGIN.top], true);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `${title}. The error goes from ${shown(low, 3)} to ${shown(sorted.at(-1), 3)}.` });
  const readout = el("p", { class: "readout", hidden: true });
  values.forEach((column, i) => column.forEach((value, j) => {
    const cell = { x: x(edgesX[i]), y: y(edgesY[j + 1]), width: x(edgesX[i + 1]) - x(edgesX[i]) + 0.6, height: y(edgesY[j]) - y(edgesY[j + 1]) + 0.6 };
    const rect = svg("rect", { ...cell, fill: value === null ? "none" : shade(value), class: "cell" });
    rect.addEventListener("pointerenter", () => {
      readout.textContent = `η̃ = ${shown(xs[i], 3)}, λ = ${shown(ys[j], 3)}: ${value === null ? "not computed" : `error ${shown(value, 4)}`}`;
      readout.hidden = false;
    });
    picture.append(rect);
  }));
  picture.append(frame(x, y, width, height, xlabel, ylabel));
  for (const one of marks) picture.append(spot(one, x, y));
  picture.addEventListener("pointerleave", () => (readout.hidden = true));
  box.replaceChildren(picture, key(low, high, marks), readout);
}

function frame(x, y, width, height, xlabel, ylabel) {
  const bottom = height - MARGIN.bottom, group = svg("g", { class: "frame" });
  for (const tick of y.ticks) group.append(svg("text", { x: MARGIN.left - 7, y: y(tick) + 4, "text-anchor": "end" }, shown(tick)));
  for (const tick of x.ticks) group.append(svg("text", { x: x(tick), y: bottom + 17, "text-anchor": "middle" }, shown(tick)));
  group.append(
    svg("text", { class: "name", x: (MARGIN.left + width - MARGIN.right) / 2, y: height - 5, "text-anchor": "middle" }, xlabel),
    svg("text", { class: "name", transform: `translate(13 ${(MARGIN.top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, ylabel),
  );
  return group;
}

function spot({ x: vx, y: vy, look }, x, y) {
  const inside = (s, v) => Math.min(Math.max(v, s.domain[0]), s.domain[1]);
  const place = `translate(${x(inside(x, vx))} ${y(inside(y, vy))})`;
  return svg("g", { class: `spot ${look}`, transform: place }, ...shape(look));
}

const shape = (look) =>
  look === "best-spot"
    ? [svg("path", { class: "halo", d: STAR }), svg("path", { class: "ink", d: STAR })]
    : [svg("path", { class: "halo", d: "M-8,0H8M0,-8V8" }), svg("path", { class: "ink", d: "M-8,0H8M0,-8V8" })];

const STAR = Array.from({ length: 10 }, (_, i) => {
  const radius = i % 2 ? 4 : 9.5, angle = (Math.PI * i) / 5 - Math.PI / 2;
  return `${i ? "L" : "M"}${(radius * Math.cos(angle)).toFixed(2)},${(radius * Math.sin(angle)).toFixed(2)}`;
}).join("") + "z";

function key(low, high, marks) {
  const list = el("ul", { class: "legend" });
  const bar = svg("svg", { width: 90, height: 12, "aria-hidden": "true" });
  for (let i = 0; i < 30; i += 1) bar.append(svg("rect", { x: 3 * i, y: 0, width: 3.5, height: 12, fill: colour(i / 29) }));
  list.append(el("li", {}, shown(low, 3), bar, `${shown(high, 3)} or more`));
  for (const one of marks) {
    const sample = svg("svg", { width: 22, height: 22, viewBox: "-11 -11 22 22", "aria-hidden": "true" }, svg("g", { class: `spot ${one.look}` }, ...shape(one.look)));
    list.append(el("li", {}, sample, one.label));
  }
  return list;
}

/** Cell borders between logarithmically spaced values. */
function edges(values) {
  const logs = values.map(Math.log), half = (logs[1] - logs[0]) / 2;
  return [...logs.map((v) => Math.exp(v - half)), Math.exp(logs.at(-1) + half)];
}

function colour(t) {
  const at = Math.min(Math.max(t, 0), 1) * (SHADES.length - 1), i = Math.min(Math.floor(at), SHADES.length - 2);
  const mixed = SHADES[i].map((c, k) => Math.round(c + (at - i) * (SHADES[i + 1][k] - c)));
  return `rgb(${mixed.join(",")})`;
}
