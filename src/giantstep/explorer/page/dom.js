// Making elements. Text always goes in as text: nothing that a visitor types is ever read as HTML.

export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const ROUNDING = 1e-12; // errors below this are zero, up to the arithmetic

/** A number as a person writes it: `digits` significant ones, no trailing zeros. */
export function shown(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (value === Infinity) return "∞";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) {
    const [mantissa, power] = value.toExponential(digits - 1).split("e");
    return `${Number(mantissa)}e${Number(power)}`;
  }
  return String(Number(value.toPrecision(digits))).replace("-", "−");
}

/** An error: what only rounding keeps from zero is zero. */
export const shownError = (value, digits = 4) =>
  typeof value === "number" && Math.abs(value) < ROUNDING ? "0 (to rounding)" : shown(value, digits);

/** Show on a card, or on the strip of numbers, where it stands. */
export function mark(element, { state, behind, stale, busy }) {
  element.dataset.state = state;
  for (const [name, on] of Object.entries({ behind, stale, busy })) element.classList.toggle(name, on);
  element.setAttribute("aria-busy", String(busy));
}

export async function copy(text, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select and copy by hand";
  }
  setTimeout(() => (button.textContent = before), 1500);
}

/** Hand the visitor a file. */
export function save(text, name, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
