// Questions to the server: each is one POST whose answer comes as lines of JSON. Aborting ends the work there.

export class Refusal extends Error {}

export async function about() {
  const response = await fetch("api/about");
  return response.json();
}

/** Ask for a view; `onLine` gets every line of the answer. Throws Refusal with a sentence to show. */
export async function ask(view, settings, signal, onLine) {
  let response;
  try {
    response = await fetch(`api/${view}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(settings),
      signal,
    });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Refusal("The server does not answer; is giantstep explore still running?");
  }
  if (!response.ok) {
    const { error } = await response.json().catch(() => ({}));
    throw new Refusal(error ?? `The server refused (${response.status}).`);
  }
  let ended = false;
  for await (const text of lines(response.body)) {
    const line = JSON.parse(text);
    if (line.error !== undefined) throw new Refusal(line.error);
    if (line.end) ended = true;
    else onLine(line);
  }
  if (!ended && !signal.aborted) throw new Refusal("The answer broke off; is giantstep explore still running?");
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
