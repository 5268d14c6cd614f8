// One chart, drawn by Plotly: zoom, values under the pointer, and the legend are its own. Here are our look, the
// keyboard, and the ways to take a chart away.

import { save, shown } from "./dom.js";

const FONT = getComputedStyle(document.body).fontFamily;
const MARGIN = { l: 56, r: 10, t: 28, b: 44 }; // the bar of buttons is above the plot, the legend below it
const BELOW = 44; // pixels from the plot to the legend
const NARROW = 480; // pixels: a phone
const FEW = 300; // a logarithmic axis that spans less is labelled between its powers of ten, too
const DEEPEST = 1e-7; // of the largest value, at the bottom of a logarithmic axis
const GAP = 0.04; // of the width, between two panels
const CLIPPED = 66; // characters of titles that have room side by side
const AT_ONCE = { mode: "immediate", transition: { duration: 0 }, frame: { duration: 0, redraw: false } };
const BUTTONS = [["zoom2d", "pan2d", "resetScale2d"]]; // no others: some versions of Plotly offer to upload the chart
const DASHES = ["solid", "dash", "dot", "dashdot"];

const COLOURS = ["ink", "soft", "card", "rule", "grid", "blue", "orange", "green", "red", "grey", "purple", "accent"];
const finger = matchMedia("(pointer: coarse)");
const dark = matchMedia("(prefers-color-scheme: dark)"), known = new Map();

/** The colours of the page as it is now, light or dark. */
export function theme() {
  if (!known.has(dark.matches)) {
    const style = getComputedStyle(document.documentElement);
    known.set(dark.matches, Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()])));
  }
  return known.get(dark.matches);
}

/** A text that a visitor has typed, for a legend: Plotly reads tags there. */
export const literally = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
const asTyped = (text) => text?.replaceAll("&lt;", "<").replaceAll("&amp;", "&");

export const dash = (index) => DASHES[index % DASHES.length];

export class Chart {
  /** `onPick(point)` hears of the place that is clicked, tapped, or chosen by Enter. */
  constructor(box, title, onPick) {
    Object.assign(this, { box, title, onPick });
    this.scale = undefined; // "log" or "linear" once the visitor has chosen
    this.plot = this.still = undefined;
    this.at = undefined; // the point that the keyboard is at
    box.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.plot && box.clientHeight && Plotly.Plots.resize(box)).observe(box);
  }

  /**
   * `plot`: {traces, x: {title, log, range}, y: {title, log, range, categories}, names: [of x, of y], shapes, unified,
   * panels, bare (without a legend), keep}.
   * With `panels`, a title for each, the traces stand side by side instead of on each other. While `keep` is the same,
   * zoom and hidden curves stay as the visitor has left them. While the settings are `moving`, axes stay if they can.
   */
  draw(plot, moving = false) {
    this.plot = plot;
    const still = skeleton(plot, this.log);
    if (moving && still && still === this.still && this.holds(plot)) this.follow(plot);
    else this.redraw(plot);
    this.still = still;
    this.box.setAttribute("aria-label", `${summary(this.title, plot)}${this.onPick ? " Arrow keys go from point to point; Enter takes the settings of one." : ""}`);
  }

  /** Whether all values are on the axis as it is now, or the visitor has chosen what is. */
  holds({ traces }) {
    const { range, autorange } = this.box.layout.yaxis, [low, high] = this.log ? range.map((v) => 10 ** v) : range;
    return (!this.log && !autorange) || traces.every(({ y }) => y.every((v) => v === null || (this.log && v <= 0) || (v >= low && v <= high)));
  }

  /**
   * Move curves and points, which is all that has changed: a third of the work. Values are copied: when the settings
   * rest, the same answer is drawn anew, and Plotly fits the axes again only to arrays that it has not seen.
   */
  follow({ traces }) {
    Plotly.animate(this.box, { data: traces.map(({ x, y }) => ({ x, y: [...y] })) }, AT_ONCE).catch(() => {}); // overtaken by another
  }

  redraw(plot) {
    const colours = theme(), first = !this.box.layout;
    const layout = {
      autosize: true, margin: MARGIN, showlegend: !plot.panels && !plot.bare, uirevision: `${plot.keep} ${this.scale}`, shapes: plot.shapes,
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: plot.unified ? "x unified" : "closest",
      dragmode: finger.matches ? false : "zoom", // a finger scrolls the page
      font: { family: FONT, size: 11.5, color: colours.ink },
      hoverlabel: { bgcolor: colours.card, bordercolor: colours.rule, font: { color: colours.ink } },
      legend: { orientation: "h", traceorder: "reversed", x: 0, y: -BELOW / Math.max(this.box.clientHeight - 120, 100), xanchor: "left", yanchor: "top", font: { size: this.box.clientWidth < NARROW ? 10 : 11.5 } },
      xaxis: axis(plot.x, colours), yaxis: axis({ ...plot.y, log: this.log, range: this.log ? plot.y.range ?? span(plot) : plot.y.range }, colours),
    };
    if (plot.panels) Object.assign(layout, sideBySide(plot, layout));
    const traces = plot.panels ? plot.traces.map((trace, i) => ({ ...trace, xaxis: nth("x", i) })) : plot.traces;
    const config = { displaylogo: false, displayModeBar: finger.matches ? false : "hover", modeBarButtons: BUTTONS, showTips: false, responsive: false };
    Plotly.react(this.box, traces, layout, config);
    if (first) this.box.on("plotly_click", ({ points }) => points[0] && this.onPick?.(points[0]));
  }

  get log() {
    return this.scale === undefined ? this.plot.y.log : this.scale === "log";
  }

  toggleScale() {
    if (!this.plot) return;
    this.scale = this.log ? "linear" : "log";
    this.draw(this.plot);
  }

  /** A picture, as a file: "png" or "svg". */
  picture(format, filename) {
    const { width, height } = this.box.getBoundingClientRect();
    return this.plot && Plotly.downloadImage(this.box, { format, filename, width: Math.round(width), height: Math.round(height), scale: 2 });
  }

  csv(filename) {
    if (this.plot) save(table(this.plot), `${filename}.csv`, "text/csv");
  }

  key(event) {
    const move = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1 }[event.key];
    const curve = this.plot?.traces.findIndex((trace) => trace.meta === "main") ?? -1;
    if (curve < 0 || (!move && event.key !== "Enter")) return;
    const { x, y, z } = this.plot.traces[curve];
    event.preventDefault();
    if (z) {
      const [i, j] = this.at ?? [Math.floor(x.length / 2), Math.floor(y.length / 2)];
      const across = event.key === "ArrowLeft" || event.key === "ArrowRight";
      this.at = [clamp(i + (across ? move ?? 0 : 0), x.length), clamp(j + (across ? 0 : move ?? 0), y.length)];
      if (event.key === "Enter") return this.onPick?.({ x: x[this.at[0]], y: y[this.at[1]], data: { z } });
      return Plotly.Fx.hover(this.box, { xval: x[this.at[0]], yval: y[this.at[1]] }, `${nth("x", this.plot.panels ? curve : 0)}y`);
    }
    this.at = clamp((typeof this.at === "number" ? this.at : Math.floor(x.length / 2)) + (move ?? 0), x.length);
    if (event.key === "Enter") return this.onPick?.({ x: x[this.at], y: y[this.at] });
    return Plotly.Fx.hover(this.box, [{ curveNumber: curve, pointNumber: this.at }]);
  }
}

/**
 * All of a plot but the places of its curves and points: pictures with the same one differ in nothing else. A map has
 * none, and is always drawn anew: Plotly wipes out heat maps and contours when it moves what is beside them. Bars, too.
 */
const skeleton = (plot, log) =>
  plot.traces.some(({ z, type }) => z || type === "bar") ? undefined : JSON.stringify([log, dark.matches, { ...plot, traces: plot.traces.map((trace) => ({ ...trace, x: 0, y: 0 })) }]);

/** Plotly's name of the axis of the i-th panel: x, x2, x3. */
const nth = (axis, i) => `${axis}${i ? i + 1 : ""}`;

/** One horizontal axis for each panel, zoomed together, and its title above it. */
function sideBySide({ panels }, { xaxis }) {
  const width = (1 + GAP) / panels.length - GAP, left = (i) => i * (width + GAP);
  const axes = panels.map((_, i) => [nth("xaxis", i), { ...xaxis, title: i ? undefined : xaxis.title, nticks: 4, domain: [left(i), left(i) + width], ...(i && { matches: "x" }) }]);
  const most = Math.floor(CLIPPED / panels.length), clipped = (text) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  const titles = panels.map((text, i) => ({ text: literally(clipped(asTyped(text))), xref: "paper", yref: "paper", x: left(i), y: 1, xanchor: "left", yanchor: "bottom", showarrow: false }));
  return { ...Object.fromEntries(axes), annotations: titles };
}

/** The range of a logarithmic axis for what is drawn: all that is positive, but not what is next to nothing. */
function span({ traces }) {
  const values = traces.flatMap(({ y }) => y).filter((v) => v > 0);
  const top = Math.max(...values), low = Math.max(Math.min(...values), DEEPEST * top);
  return values.length ? [low / 1.5, top * 1.5] : undefined;
}

const clamp = (index, length) => Math.min(Math.max(index, 0), length - 1);

function axis({ title, log, range, categories }, colours) {
  const shared = { title: { text: title, standoff: 4 }, automargin: true, ticklabeloverflow: "allow", gridcolor: colours.grid, zerolinecolor: colours.rule, linecolor: colours.soft, tickcolor: colours.soft, ticks: "outside", ticklen: 4 };
  if (categories) return { ...shared, type: "category", ticks: "" };
  if (!log) return { ...shared, type: "linear", nticks: 7, ...(range ? { range } : { autorange: true }) };
  const few = range && range[1] / range[0] < FEW;
  const ticks = few ? { dtick: "D2", minorloglabels: "complete", tickformat: "~g" } : { dtick: 1, tickangle: 0, exponentformat: "power" };
  return { ...shared, ...ticks, type: "log", ...(range ? { range: range.map(Math.log10) } : { autorange: true }) };
}

/** What is drawn, as comma-separated lines: a row for each point. */
function table({ traces, names: [x, y] }) {
  const cell = (value) => (value === null || value === undefined ? "" : /[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : value);
  const maps = traces.filter((trace) => trace.z);
  const rows = maps.length
    ? maps[0].y.flatMap((v, j) => maps[0].x.map((u, i) => [u, v, ...maps.map((map) => (map.customdata ?? map.z)[j][i])]))
    : traces.flatMap((trace) => trace.x.map((v, i) => [asTyped(trace.name), v, trace.y[i], trace.error_y?.array[i]]));
  const head = maps.length ? [x, y, ...maps.map((map) => asTyped(map.name))] : ["series", x, y, "standard_error"];
  return `${[head, ...rows].map((row) => row.map(cell).join(",")).join("\n")}\n`;
}

function summary(title, { traces }) {
  const parts = traces.filter((t) => t.name && !t.z && t.y.some((v) => v !== null)).map(({ type, name, x, y }) => {
    if (type === "bar") return y.map((part, i) => `${part} ${shown(x[i], 3)}`).toReversed().join(", ");
    const first = y.findIndex((v) => v !== null), last = y.findLastIndex((v) => v !== null);
    return `${name}: from ${shown(y[first], 3)} at ${shown(x[first], 3)} to ${shown(y[last], 3)} at ${shown(x[last], 3)}`;
  });
  const maps = traces.filter((t) => t.z).map(({ name }) => `map of ${name}`);
  return `${title}. ${[...maps, ...parts].join("; ")}.`;
}
