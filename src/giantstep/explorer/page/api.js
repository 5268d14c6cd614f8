// Questions to the server: each is one POST whose answer comes as lines of JSON. Aborting ends the work there.

export class Refusal extends Error {
  constructor({ error, field }, unreachable = false) {
    super(error);
    Object.assign(this, { field, unreachable }); // the setting that is to blame, if one is; whether nobody answered
  }
}

/** What went wrong, as {text, field, unreachable}; what is no refusal is an error of the page's own, which its console tells. */
export function trouble(error) {
  if (error instanceof Refusal) return { text: error.message, field: error.field, unreachable: error.unreachable };
  console.error(error);
  return { text: "The page could not read the answer." };
}

const silent = (words) => new Refusal({ error: `${words} Start it again in a terminal with “giantstep explore”, and open the link that it prints.` }, true);
const token = remembered();

/** The token of the link that was opened. It is kept for this address alone, and does not stay in sight. */
function remembered() {
  const query = new URLSearchParams(location.search), given = query.get("token");
  const name = "giantstep token";
  try {
    if (given) localStorage.setItem(name, given);
    if (given) history.replaceState(null, "", location.pathname + location.hash);
    return given ?? localStorage.getItem(name);
  } catch {
    return given; // a browser that keeps nothing
  }
}

const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };

/** What the server answers; throws a Refusal with a sentence to show. */
async function fetched(address, options) {
  let response;
  try {
    response = await fetch(address, { headers, ...options });
  } catch (error) {
    throw options?.signal?.aborted ? error : silent("The explorer does not answer: its server has ended.");
  }
  if (!response.ok) throw new Refusal(await response.json().catch(() => ({ error: `The server refused (${response.status}).` })));
  return response;
}

export const about = async () => (await fetched("api/about")).json();

/** Ask for a view; `onLine` gets every line of the answer. */
export async function ask(view, settings, { draft, signal }, onLine) {
  const response = await fetched(`api/${view}${draft ? "/draft" : ""}`, { method: "POST", body: JSON.stringify(settings), signal });
  let ended = false;
  try {
    for await (const text of lines(response.body)) {
      const line = JSON.parse(text);
      if (line.error !== undefined) throw new Refusal(line);
      if (line.end) ended = true;
      else onLine(line);
    }
  } catch (error) {
    if (error instanceof Refusal || error instanceof SyntaxError || signal.aborted) throw error;
  }
  if (!ended && !signal.aborted) throw silent("The answer broke off: the server has ended.");
}

async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    rest += value;
    const parts = rest.split("\n");
    rest = parts.pop();
    yield* parts.filter(Boolean);
  }
  if (rest) yield rest;
}
