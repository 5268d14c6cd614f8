// Questions to the server: each is one POST whose answer comes as lines of JSON. Aborting ends the work there.

export class Refusal extends Error {
  constructor({ error, field }) {
    super(error);
    this.field = field; // the setting that is to blame, if one is
  }
}

const SILENT = "The server does not answer; is giantstep explore still running?";
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

export async function about() {
  const response = await fetch("api/about", { headers }).catch(() => {
    throw new Refusal({ error: SILENT });
  });
  const answer = await response.json();
  if (!response.ok) throw new Refusal(answer);
  return answer;
}

/** Ask for a view; `onLine` gets every line of the answer. Throws Refusal with a sentence to show. */
export async function ask(view, settings, { draft, signal }, onLine) {
  let response;
  try {
    response = await fetch(`api/${view}${draft ? "/draft" : ""}`, { method: "POST", headers, body: JSON.stringify(settings), signal });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Refusal({ error: SILENT });
  }
  if (!response.ok) throw new Refusal(await response.json().catch(() => ({ error: `The server refused (${response.status}).` })));
  let ended = false;
  for await (const text of lines(response.body)) {
    const line = JSON.parse(text);
    if (line.error !== undefined) throw new Refusal(line);
    if (line.end) ended = true;
    else onLine(line);
  }
  if (!ended && !signal.aborted) throw new Refusal({ error: "The answer broke off; is giantstep explore still running?" });
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
