// The server: what is asked of it, and what it refuses.

const KEY = "live-memory-key";
// How this page is named where it writes something.
export const HOST = "page";

export class Refusal extends Error {
  constructor(status, kind, message) {
    super(message);
    this.status = status;
    this.kind = kind;
  }
}

export const key = () => sessionStorage.getItem(KEY);
export const keepKey = (secret) => sessionStorage.setItem(KEY, secret);
export const loseKey = () => sessionStorage.removeItem(KEY);

export async function call(path, { query = {}, body, signal, secret = key(), headers: more = {} } = {}) {
  const target = `${path}?${new URLSearchParams(query)}`;
  // By these the server knows who writes a note.
  const headers = { Authorization: `Bearer ${secret}`, "X-Live-Memory-Host": HOST, ...more };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const method = body === undefined ? "GET" : "POST";
  let reply;
  try {
    reply = await fetch(target, { method, headers, signal, cache: "no-store", body: body && JSON.stringify(body) });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Refusal(0, "unreachable", "The server does not answer.");
  }
  if (!reply.ok) throw await refusalOf(reply);
  return reply;
}

async function refusalOf(reply) {
  let error = {};
  try {
    error = (await reply.json()).error ?? {};
  } catch {
    // Whatever it sent, the status says enough.
  }
  return new Refusal(reply.status, error.class ?? "unknown", error.message ?? `The server answered ${reply.status}.`);
}

// Several parts of a view show the same reply.
const flights = new Map();

export function get(path, query = {}) {
  const target = `${path}?${new URLSearchParams(query)}`;
  if (!flights.has(target)) {
    const flight = call(path, { query }).then((reply) => reply.json());
    flights.set(target, flight);
    const landed = () => flights.delete(target);
    flight.then(landed, landed);
  }
  return flights.get(target);
}

export const post = async (path, body, headers) => (await call(path, { body, headers })).json();

/** The pieces of a reply as they come, split at `mark`. */
export async function* pieces(reply, mark) {
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split(mark);
    rest = parts.pop();
    yield* parts.filter((part) => part.trim());
  }
}
