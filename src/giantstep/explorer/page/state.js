// The settings, and their form in the address: every one that is not at its initial value, and those that are pinned.

export const MOST_PINS = 3;

/** The initial settings, from the server's list of controls. Pins are settings too, each in the form of an address. */
export const initialOf = (controls) => ({ ...Object.fromEntries(controls.map(({ name, initial }) => [name, initial])), pins: [] });

export function encode({ pins = [], ...settings }, initial) {
  const pairs = Object.entries(settings).filter(([name, value]) => value !== initial[name]);
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]));
  for (const pin of pins) text.append("pin", pin);
  return text.toString();
}

/** Settings from the text after # in a link; names that are not known are left out. */
export function decode(text, initial) {
  const settings = { ...initial, pins: [] };
  for (const [name, value] of new URLSearchParams(text)) {
    if (name === "pin" && settings.pins.length < MOST_PINS) settings.pins.push(value);
    else if (name !== "pins" && Object.hasOwn(initial, name)) settings[name] = parsed(value, initial[name]);
  }
  return settings;
}

/** A value as typed, in the kind of its initial value; what is not a number stays a text for the server to refuse. */
export function parsed(text, like) {
  if (typeof like === "boolean") return text === "true";
  if (typeof like !== "number") return text;
  const typed = text.trim().replace("∞", "inf").replace("−", "-");
  const value = Number(typed);
  return typed === "" || !Number.isFinite(value) ? typed : value;
}

/** In what `settings` differ from `others`, in symbols: "η̃ = 1, λ = 0.01". */
export function difference(settings, others, controls) {
  const page = ["quantity", "low", "high", "trials", "seed"];
  return controls
    .filter(({ name }) => settings[name] !== others[name] && !page.includes(name))
    .map(({ name, symbol, label }) => `${symbol ?? label.toLowerCase()} = ${settings[name]}`).join(", ");
}
