// Axes: from values to pixels, and ticks at round numbers.

export function scale([low, high], [from, to], log = false) {
  const f = log ? Math.log10 : (v) => v;
  const a = f(low), b = f(high);
  const at = (value) => from + ((f(value) - a) / (b - a || 1)) * (to - from);
  at.invert = (pixel) => {
    const t = a + ((pixel - from) / (to - from)) * (b - a);
    return log ? 10 ** t : t;
  };
  at.ticks = log ? logTicks(low, high) : linearTicks(low, high);
  at.domain = [low, high];
  at.log = log;
  return at;
}

function linearTicks(low, high, about = 5) {
  const rough = (high - low) / about || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(10)));
}

function logTicks(low, high) {
  const decades = Math.log10(high / low);
  const every = Math.max(1, Math.ceil(decades / 6));
  const steps = decades > 2.2 ? [1] : decades > 1.2 ? [1, 3] : [1, 2, 5];
  const ticks = [];
  for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); k += 1) {
    if (((k % every) + every) % every !== 0) continue;
    for (const m of steps) {
      const value = Number(`${m}e${k}`);
      if (value >= low * 0.999 && value <= high * 1.001) ticks.push(value);
    }
  }
  return ticks.length > 1 ? ticks : linearTicks(low, high);
}

/** The range of numbers (null is none), with some air; from 0 if they come near it. */
export function extent(values, { log = false, zero = true, air = 0.05 } = {}) {
  const numbers = values.filter((v) => Number.isFinite(v) && (!log || v > 0));
  if (!numbers.length) return log ? [0.1, 1] : [0, 1];
  let low = Math.min(...numbers), high = Math.max(...numbers);
  if (log) return low === high ? [low / 2, high * 2] : [low / (high / low) ** air, high * (high / low) ** air];
  const span = high - low || Math.abs(high) || 1;
  high += air * span;
  low = zero && low >= 0 && low < 0.6 * high ? 0 : low - air * span;
  return [low, high];
}
