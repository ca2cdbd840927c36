// The page: one view for each address behind the `#`, drawn from what the server tells.
import { blocks, code, h, inline, nameOf, placeButton, s } from "./text.js";

const KEY = "live-memory-key";
const ROWS = 50;
// Places that are opened beside an answer before anybody asks for more.
const FIRST_PLACES = 4;
const main = document.getElementById("main");
const said = document.getElementById("said");

// ---- the server -----------------------------------------------------------------------------

class Refusal extends Error {
  constructor(status, kind, message) {
    super(message);
    this.status = status;
    this.kind = kind;
  }
}

const key = () => sessionStorage.getItem(KEY);

async function call(path, { query = {}, body, signal, secret = key() } = {}) {
  const target = `${path}?${new URLSearchParams(query)}`;
  const headers = { Authorization: `Bearer ${secret}` };
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

function get(path, query = {}) {
  const target = `${path}?${new URLSearchParams(query)}`;
  if (!flights.has(target)) {
    const flight = call(path, { query }).then((reply) => reply.json());
    flights.set(target, flight);
    const landed = () => flights.delete(target);
    flight.then(landed, landed);
  }
  return flights.get(target);
}

const post = async (path, body) => (await call(path, { body })).json();

/** The pieces of a reply as they come, split at `mark`. */
async function* pieces(reply, mark) {
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

// ---- words ----------------------------------------------------------------------------------

const number = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const ago = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const UNITS = [["year", 31_536_000], ["month", 2_592_000], ["week", 604_800], ["day", 86_400], ["hour", 3_600], ["minute", 60]];
const date = (at) => new Date(at * 1000);
const whole = (at) => date(at).toLocaleString("en", { dateStyle: "medium", timeStyle: "medium" });
const plural = (count, one, many = `${one}s`) => `${number.format(count)} ${count === 1 ? one : many}`;
const base = (root) => root.split("/").filter(Boolean).pop() ?? root;
const AUTHORS = { agent: "the agent", subagent: "a sub-agent", companion: "the companion", person: "a person", summary: "a summary" };

function relative(at) {
  const seconds = at - Date.now() / 1000;
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return ago.format(Math.trunc(seconds / size), unit);
  }
  return "just now";
}

const elapsed = (seconds) => (seconds < 1 ? `${Math.round(1000 * seconds)} ms` : `${seconds.toFixed(1)} s`);
const time = (at) => (at ? h("time", { class: "ago", datetime: date(at).toISOString(), title: whole(at) }, relative(at)) : "never");

function money(usd) {
  if (usd === null || usd === undefined) return "price unknown";
  if (usd === 0) return "$0";
  return `$${usd.toFixed(usd < 0.1 ? 4 : 2)}`;
}

function costOf(answer) {
  if (answer.is_subscription) return "subscription";
  return answer.cost_usd === 0 ? "free" : money(answer.cost_usd);
}

const GROUNDING = {
  verified: ["good", "Checked", "Every place it cites was opened, and what is said stands there."],
  partial: ["warn", "Partly checked", "Some of what is said was not found in the files."],
  ungrounded: ["bad", "Not backed", "Nothing in the files backs this."],
};
const MODES = { companion: "read and answered by", "single-shot": "answered by", evidence: "found in the index, without a model", cached: "the same answer as before" };
const STATUS = { verified: "stands there", corrected: "line corrected", unsupported: "not found there" };

const mark = (kind, text, title) => h("span", { class: `mark ${kind}`, title }, text);
const grounding = (answer) => {
  const [kind, text, title] = GROUNDING[answer.grounding] ?? ["", answer.grounding, ""];
  return mark(kind, text, title);
};
const say = (text) => {
  said.textContent = text;
};

// ---- drawing --------------------------------------------------------------------------------

/** Put children in place of those that are there; what had the focus by its `data-key` has it again. */
function swap(where, ...children) {
  const focused = where.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  where.replaceChildren(...children.flat(3).filter((child) => child !== null && child !== undefined));
  if (focused) (where.querySelector(`[data-key="${CSS.escape(focused)}"]`) ?? main).focus({ preventScroll: true });
  return where;
}

const waiting = (what) => h("p", { class: "working soft" }, h("span", { class: "spin", "aria-hidden": "true" }), `Loading ${what}\u2026`);

function trouble(problem, again) {
  const gone = problem.status === 0;
  const advice = gone
    ? ["It may have been stopped, or be starting. This page goes on by itself once it is back; ", h("code", {}, "live-memory start"), " starts it."]
    : problem.status === 400
      ? ["What is asked for cannot be shown. Go back to ", h("a", { href: "#/" }, "all codebases"), "."]
      : ["Try again; ", h("code", {}, "live-memory doctor"), " names what is wrong and the fix."];
  return h(
    "section",
    { class: "card alert bad stack tight", role: "alert" },
    h("h2", {}, gone ? "The server does not answer" : "This could not be loaded"),
    gone ? null : h("p", {}, problem.message),
    h("p", {}, advice),
    h("p", {}, h("button", { type: "button", onclick: again }, "Try again")),
  );
}

const empty = (title, ...text) => h("div", { class: "empty" }, h("h2", {}, title), h("p", {}, text));
const card = (title, ...children) => h("section", { class: "card" }, title ? h("h2", {}, title) : null, children);
const tile = (name, value, note) => h("div", { class: "tile" }, h("dt", {}, name), h("dd", {}, value), note ? h("dd", { class: "note" }, note) : null);

/** Bars over time; below the axis where a value is negative. The figures follow as a table. */
function bars(title, rows, { unit, format }) {
  const width = matchMedia("(max-width: 40rem)").matches ? 330 : 600;
  const [height, left, foot] = [150, 66, 22];
  const values = rows.map((row) => row.value);
  const heading = h("h3", {}, title, " ", h("span", { class: "soft small" }, `${format(values.reduce((sum, value) => sum + value, 0))} ${unit}`));
  if (!values.some(Boolean)) return h("div", { class: "stack tight" }, heading, h("p", { class: "soft small" }, "Nothing in this time."));
  const top = Math.max(...values, 0);
  const low = Math.min(...values, 0);
  const span = top - low || 1;
  const y = (value) => 8 + ((top - value) / span) * (height - foot - 12);
  const step = (width - left) / rows.length;
  const drawn = rows.map(({ value, label }, n) => {
    const tall = Math.abs(y(value) - y(0));
    const at = { x: left + n * step + step * 0.14, y: Math.min(y(value), y(0)), width: step * 0.72, height: value ? Math.max(tall, 1.5) : 0, rx: 1.5 };
    return s("rect", { class: value < 0 ? "bar down" : "bar", ...at }, s("title", {}, `${label}: ${format(value)}`));
  });
  const ticks = [...new Set([top, 0, low])].map((value) => s("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, format(value)));
  const ends = [
    s("text", { x: left, y: height - 4 }, rows[0].label),
    s("text", { x: width, y: height - 4, "text-anchor": "end" }, rows[rows.length - 1].label),
  ];
  const total = values.reduce((sum, value) => sum + value, 0);
  const axis = s("line", { class: "axis", x1: left, x2: width, y1: y(0), y2: y(0) });
  const label = `${title}: ${format(total)} ${unit} in all`;
  const filled = rows.filter((row) => row.value);
  return h(
    "div",
    { class: "stack tight" },
    heading,
    s("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, axis, drawn, ticks, ends),
    h("details", {}, h("summary", {}, "As a table"), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, table(["When", unit], filled.map((row) => [row.label, format(row.value)])))),
  );
}

const table = (heads, rows) =>
  h(
    "table",
    {},
    h("thead", {}, h("tr", {}, heads.map((head, n) => h("th", { scope: "col", class: n ? "n" : "" }, head)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, n) => (n ? h("td", { class: "n" }, cell) : h("th", { scope: "row" }, cell)))))),
  );

function meter(label, parts, limit) {
  let x = 0;
  const drawn = parts.map(([, tokens], n) => {
    const width = Math.min(100 - x, (100 * tokens) / Math.max(limit, 1));
    x += width;
    return s("rect", { class: `p${n % 4}`, x: x - width, y: 0, width, height: 10 });
  });
  return h(
    "div",
    { class: "stack tight" },
    s("svg", { class: "meter", viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img", "aria-label": label }, drawn),
    h("ul", { class: "meta plain" }, parts.map(([name, tokens], n) => h("li", { class: "row part" }, s("svg", { class: "dot", viewBox: "0 0 10 10", "aria-hidden": "true" }, s("rect", { class: `p${n % 4}`, width: 10, height: 10, rx: 3 })), `${name} ${short.format(tokens)}`))),
  );
}

function opened(place, note) {
  const { path, start, end, first, lines, problem } = place;
  const name = nameOf(place);
  return h(
    "figure",
    { id: `place-${name}`, tabindex: "-1" },
    h("figcaption", {}, name, note ? [" ", h("span", { class: "soft" }, `\u2014 ${note}`)] : null),
    problem
      ? h("p", { class: "soft small" }, `${path}: ${problem}.`)
      : code(lines.map((line, n) => [first + n, line]), { start, end, label: `Lines of ${name}` }),
    place.is_cut ? h("p", { class: "soft small" }, "More lines follow.") : null,
  );
}

/** Ask the person; resolves to whether to go on. */
function confirmed(title, text, doIt) {
  const dialog = document.getElementById("sure");
  // What is behind it may be drawn anew meanwhile.
  const opener = document.activeElement.dataset.key;
  return new Promise((resolve) => {
    dialog.returnValue = "";
    const close = (answer) => () => dialog.close(answer);
    swap(
      dialog,
      h(
        "div",
        { class: "stack" },
        h("h2", { id: "sure-title" }, title),
        h("p", { class: "prose" }, text),
        h("div", { class: "row" }, h("button", { type: "button", class: "danger", onclick: close("yes") }, doIt), h("button", { type: "button", autofocus: true, onclick: close("") }, "Cancel")),
      ),
    );
    dialog.onclose = () => {
      main.querySelector(`[data-key="${CSS.escape(opener ?? "")}"]`)?.focus();
      resolve(dialog.returnValue === "yes");
    };
    dialog.showModal();
  });
}

// ---- views ----------------------------------------------------------------------------------

// Each view draws itself into `where` and gives a function that brings it up to date, if it can be.
const view = { name: "", refresh: null, workspace: null, stop: new AbortController() };

/** A part that loads by itself: waiting, what was loaded, or what went wrong.
 *
 * It is drawn anew only where something else was loaded, so that what a person selected or opened
 * stays as it is; `redraw` is for what the person changed.
 */
function part(what, load, draw) {
  const where = h("div", { class: "stack" }, waiting(what));
  const { signal } = view.stop;
  let [turn, found, shown] = [0, null, null];
  const redraw = () => found && swap(where, draw(found));
  const refresh = async () => {
    turn += 1;
    const mine = turn;
    try {
      const loaded = await load();
      const printed = JSON.stringify(loaded);
      if (mine !== turn || signal.aborted || printed === shown) return;
      [found, shown] = [loaded, printed];
      redraw();
    } catch (problem) {
      if (!(problem instanceof Refusal)) throw problem;
      shown = null;
      if (problem.status === 401) ended();
      else if (mine === turn && !signal.aborted) swap(where, trouble(problem, refresh));
    }
  };
  refresh();
  return { where, refresh, redraw };
}

const overviewOf = () => get("/v1/overview");

async function glance() {
  const latest = await overviewOf();
  const { reasons, hours, spend, asking, model, version } = latest;
  const cost = hours.reduce((sum, hour) => sum + hour.cost_usd, 0);
  const state = reasons.length
    ? h("a", { class: "mark bad", href: "#/health" }, plural(reasons.length, "problem"))
    : h("a", { class: "mark good", href: "#/health" }, "All is well");
  const unpriced = Object.values(spend).some((spent) => spent.unpriced_calls);
  const paid = !model ? "$0, no model" : model.is_subscription ? "subscription" : `${money(cost)}${unpriced ? " and calls without a price" : ""}`;
  swap(
    document.getElementById("glance"),
    h("li", {}, asking ? mark("busy", `${plural(asking, "question")} in work`) : null),
    h("li", {}, "Last 24 hours: ", h("strong", {}, paid)),
    h("li", {}, state),
  );
  swap(document.getElementById("foot"), `Live Memory ${version}, on this machine`);
  return latest;
}

function spendChart({ hours, model }) {
  const rows = hours.map(({ at, cost_usd: usd, tokens }) => ({ label: date(at).toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hour12: false }), value: model?.is_subscription || !hours.some((hour) => hour.cost_usd) ? tokens : usd }));
  const inTokens = !hours.some((hour) => hour.cost_usd);
  return bars("Last 24 hours", rows, inTokens ? { unit: "tokens", format: (value) => short.format(value) } : { unit: "US dollars", format: money });
}

function overview() {
  const news = part("the server's state", glance, (found) => [
    found.reasons.length ? wrong(found) : null,
    h(
      "p",
      { class: "lead" },
      found.workspaces
        ? `It remembers ${plural(found.workspaces, "codebase")} on this machine. `
        : "It remembers nothing yet. ",
      modelSentence(found),
    ),
  ]);
  const spent = part("what models took", overviewOf, (found) => card("What models took", found.model ? spendChart(found) : h("p", { class: "soft" }, "Nothing: no model is configured.")));
  const list = workspaceList();
  view.refresh = () => [news, spent, list].forEach((each) => each.refresh());
  return ["Codebases", [h("h1", { tabindex: "-1" }, "What is remembered"), news.where, h("div", { class: "two wide-first" }, list.where, spent.where)]];
}

function modelSentence({ model, hours, spend }) {
  if (!model) return "No model is configured, so questions are answered from the index, and nothing costs anything.";
  const calls = Object.values(spend).reduce((sum, spent) => sum + spent.calls, 0);
  const cost = hours.reduce((sum, hour) => sum + hour.cost_usd, 0);
  const tokens = hours.reduce((sum, hour) => sum + hour.tokens, 0);
  const took = model.is_subscription ? `${short.format(tokens)} tokens of the subscription` : `${money(cost)} and ${short.format(tokens)} tokens`;
  return `${model.model} answers; it took ${took} in the last 24 hours (${plural(calls, "call")} since the server started).`;
}

function workspaceList() {
  let shown = ROWS;
  let text = "";
  let timer;
  const list = part(
    "codebases",
    () => get("/v1/workspaces", { text, limit: Math.min(shown, 200) }),
    ({ workspaces, matching }) => {
      say(text ? plural(matching, "codebase") : "");
      if (!matching && !text)
        return empty("No codebase yet", "Open one in your coding agent: what the agent reads there is remembered from then on. Or ask: ", h("code", {}, "live-memory ask QUESTION"), ".");
      if (!matching) return empty("No codebase has such a name", "The filter looks at the folder's whole path.");
      const left = Math.min(matching, 200) - workspaces.length;
      return [
        h("p", { class: "soft small" }, matching > workspaces.length ? `The latest ${number.format(workspaces.length)} of ${plural(matching, "codebase")}; filter to find others.` : plural(matching, "codebase")),
        h("ul", { class: "list" }, workspaces.map(workspaceRow)),
        left > 0 ? h("p", {}, h("button", { type: "button", "data-key": "more", onclick: more }, `Show ${Math.min(ROWS, left)} more`)) : null,
      ];
    },
  );
  const more = () => {
    shown += ROWS;
    list.refresh();
  };
  const filter = h("input", {
    type: "search", id: "filter", autocomplete: "off", spellcheck: "false", placeholder: "Part of a folder's name",
    oninput: ({ target }) => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        [text, shown] = [target.value, ROWS];
        list.refresh();
      }, 200);
    },
  });
  const where = card("Codebases", h("div", { class: "stack" }, h("div", {}, h("label", { for: "filter" }, "Find a codebase"), filter), list.where));
  return { where, refresh: list.refresh };
}

function workspaceRow({ root, key: id, saved_at: at, figures }) {
  const known = figures && [
    h("span", {}, `${plural(figures.known_files, "file")} known`),
    figures.facts ? h("span", {}, plural(figures.facts, "finding")) : null,
    figures.questions ? [h("span", {}, plural(figures.questions, "question")), h("span", {}, `cost ${money(figures.cost_usd)}`), h("span", {}, `saved ${short.format(figures.tokens_saved)} tokens`)] : null,
  ];
  return h(
    "li",
    {},
    h(
      "div",
      { class: "row spread" },
      h("a", { class: "title", href: `#/w/${id}`, "data-key": `w-${id}` }, base(root)),
      h("span", { class: "row" }, figures?.problems.length ? mark("bad", plural(figures.problems.length, "problem")) : null, h("span", { class: "soft small" }, at ? ["learned ", time(at)] : "new")),
    ),
    h("div", { class: "path" }, root),
    h("div", { class: "meta" }, known ?? "At rest; opens when it is looked at"),
  );
}

function wrong({ reasons }) {
  return h(
    "section",
    { class: "card alert bad", "aria-label": "Problems" },
    h("h2", {}, `${plural(reasons.length, "thing")} ${reasons.length === 1 ? "needs" : "need"} you`),
    sentences(reasons),
    h("p", { class: "small" }, h("code", {}, "live-memory doctor"), " looks at each part and names the fix."),
  );
}

const sentences = (texts) => h("ul", { class: "list" }, texts.map((text) => h("li", { class: "prose" }, text.charAt(0).toUpperCase() + text.slice(1))));
const CAUSES = { ask: "Questions", compaction: "Compaction", "keep-warm": "Keeping the cache warm" };

function health() {
  const state = part("the server's state", glance, (found) => {
    const { reasons, notes, model, caps, spend, hours } = found;
    const causes = Object.entries(spend);
    return h(
      "div",
      { class: "stack" },
      reasons.length
        ? wrong(found)
        : h("section", { class: "card" }, h("h2", {}, "All is well"), h("p", {}, "Everything that is learned is kept, and every codebase that is open can be read.")),
      notes.length
        ? card("Less than it could be", sentences(notes), h("p", { class: "small soft" }, "Answers are as true as ever. ", h("code", {}, "live-memory doctor"), " says what would help."))
        : null,
      card(
        "The model",
        model
          ? [h("p", {}, `${model.model} answers questions${model.is_subscription ? " on your subscription" : ""}.`), limits(caps, hours)]
          : [h("p", {}, "None is configured: questions are answered from the index, which is free and always works. To let a cheap model read and explain, set a key:"), h("code", { class: "command" }, "live-memory config set api_key=-")],
      ),
      card("Spent since the server started", causes.length ? table(["Cause", "Calls", "Tokens", "From cache", "Cost"], causes.map(([cause, spent]) => [CAUSES[cause] ?? cause, number.format(spent.calls), number.format(spent.tokens), number.format(spent.cached_tokens), `${money(spent.cost_usd)}${spent.unpriced_calls ? ` (${spent.unpriced_calls} without a price)` : ""}`])) : h("p", {}, "Nothing.")),
      card("If something seems wrong", h("ul", { class: "list" }, ADVICE.map(([sign, what]) => h("li", {}, h("h3", {}, sign), h("p", {}, inline(what)))))),
    );
  });
  view.refresh = state.refresh;
  return ["Health", [h("h1", { tabindex: "-1" }, "Health"), state.where]];
}

const ADVICE = [
  ["The agent's reads are not learned", "Look at the timeline of the codebase. Where it stays empty, run `live-memory doctor`: it sends an event through the hook and says where it gets lost."],
  ["An answer is old or wrong", "Every place is opened at the time of the question. Open the answer here: places that no longer hold are marked. Forget a finding that misleads."],
  ["Answers cost too much", "Set a cap: `live-memory config set spend_cap_usd_day=1`. Beyond it answers come from the index."],
];

function limits({ tokens_an_hour: tokens, usd_a_day: usd }, hours) {
  const cost = hours.reduce((sum, hour) => sum + hour.cost_usd, 0);
  const last = hours[hours.length - 1].tokens;
  return h(
    "ul",
    { class: "meta plain" },
    h("li", {}, usd ? `${money(cost)} of ${money(usd)} a day` : "no cap on dollars a day"),
    h("li", {}, tokens ? `${short.format(last)} of ${short.format(tokens)} tokens an hour` : "no cap on tokens an hour"),
  );
}

// ---- one codebase ---------------------------------------------------------------------------

const TABS = [["", "Summary"], ["findings", "Findings"], ["questions", "Questions"], ["timeline", "Timeline"]];

function workspace(id, tab, rest) {
  view.workspace = id;
  const about = { workspace: id };
  const head = part("the codebase", () => get("/v1/stats", about), (stats) => headOf(stats));
  const tabs = h(
    "nav",
    { "aria-label": "This codebase" },
    TABS.map(([name, label]) => h("a", { href: `#/w/${id}${name ? `/${name}` : ""}`, "aria-current": name === tab ? "page" : null }, label)),
  );
  const label = TABS.find(([name]) => name === tab)?.[1] ?? "Summary";
  const draw = { findings, questions, timeline }[tab] ?? summary;
  const body = tab === "questions" && rest ? oneAnswer(about, rest) : draw(about);
  view.refresh = () => {
    head.refresh();
    body.refresh?.();
  };
  return [label, [head.where, tabs, body.where]];
}

function headOf({ workspace: { root } }) {
  document.title = `${base(root)} \u2013 Live Memory`;
  return h(
    "div",
    {},
    h("p", { class: "crumb" }, h("a", { href: "#/" }, "All codebases")),
    h("h1", { tabindex: "-1", "data-key": "h1" }, base(root)),
    h("p", { class: "path" }, root),
  );
}

function summary(about) {
  const figures = part("figures", () => get("/v1/stats", about), (stats) => h("div", { class: "stack" }, problemsOf(stats), knows(stats), tiles(stats)));
  const window_ = part("the window", () => get("/v1/stats", about), windowCard);
  const over = part("charts", () => get("/v1/questions", about), chartsOf);
  const last = part("findings", () => get("/v1/facts", { ...about, limit: 4 }), ({ facts, total }) =>
    card(
      "Understood last",
      total ? h("ul", { class: "list" }, facts.map((fact) => h("li", {}, factText(fact, about), factMeta(fact)))) : empty("Nothing yet", "Findings come from what agents conclude at the end of their work, where they name the places."),
      total > facts.length ? h("p", { class: "small" }, h("a", { href: `#/w/${about.workspace}/findings` }, `All ${plural(total, "finding")}`)) : null,
    ),
  );
  const parts = [figures, window_, over, last];
  const refresh = () => parts.forEach((each) => each.refresh());
  return { where: h("div", { class: "stack" }, figures.where, askCard(about), h("div", { class: "two" }, h("div", { class: "stack" }, window_.where, last.where), over.where)), refresh };
}

function problemsOf({ problems, listing, watch }) {
  const found = [...problems, ...(listing.problem ? [listing.problem] : []), ...(watch.state === "partial" && watch.problem ? [`Watching is partial: ${watch.problem}`] : [])];
  return found.length ? h("section", { class: "card alert", "aria-label": "Problems" }, h("h2", {}, "Something is in the way"), sentences(found)) : null;
}

function knows(stats) {
  const { known_files: known, indexed_files: indexed, files_waiting: left, facts, stale_facts: stale, questions: asked, last_hook_at: at, hook_events: events } = stats;
  if (!known && !facts && !asked && !events)
    return h("p", { class: "lead" }, indexed ? `It has looked through ${plural(indexed, "file")} and can answer. ` : "It has not looked at this codebase yet; the first question makes it. ", "What your agent reads and concludes here is remembered from now on.");
  const standing = stale ? `, ${number.format(stale)} of them in files that changed since` : "";
  return h(
    "p",
    { class: "lead" },
    `It knows ${plural(known, "file")} that your agent worked with, by the bytes they have now, and finds its way in all ${plural(indexed, "file")}`,
    left ? ` (${number.format(left)} more are on the way)` : "",
    `. It holds ${plural(facts, "finding")}${standing}, and has answered ${plural(asked, "question")}. `,
    events ? ["The agent was last heard ", time(at), "."] : "The agent was not heard since the server started.",
  );
}

function tiles(stats) {
  const { known_files: files, facts, stale_facts: stale, questions: asked, questions_answered_by_findings: known, cost_usd: cost, model_calls: calls, tokens_saved: saved } = stats;
  return h(
    "dl",
    { class: "tiles" },
    tile("Files known", number.format(files), `${plural(stats.entries, "entry", "entries")} in the window`),
    tile("Findings", number.format(facts), stale ? `${number.format(stale)} in changed files` : facts ? "all in unchanged files" : null),
    tile("Questions", number.format(asked), known ? `${number.format(known)} led by findings` : null),
    tile("Cost", money(cost), plural(calls, "model call")),
    tile("Tokens saved", short.format(saved), saved < 0 ? "answers cost more than reading" : "against reading the files"),
  );
}

function windowCard({ window_tokens: tokens, window_limit: limit, window_parts: parts, compactions, last_compaction: last }) {
  const share = Math.round((100 * tokens) / Math.max(1, limit));
  const shown = Object.entries(parts).filter(([, count]) => count);
  return card(
    "The window",
    h(
      "div",
      { class: "stack tight" },
      h("p", {}, `${share} % full: ${short.format(tokens)} of ${short.format(limit)} tokens.`),
      meter(`The window is ${share} % full`, shown, limit),
      h("p", { class: "small soft" }, last ? [`Compacted ${plural(compactions, "time")}, last `, time(last.at), `: ${compacted(last)}.`] : "Not compacted since the server started. At 85 % the oldest entries give way."),
    ),
  );
}

function compacted({ entries, facts, by_model: byModel }) {
  const what = plural(entries, "entry", "entries");
  return byModel ? `the model made ${plural(facts, "finding")} of ${what}` : `${what} gave way`;
}

function chartsOf({ questions: asked, saved_is: formula }) {
  if (!asked.length) return card("Spend and savings", empty("No question yet", "What answers cost, and what they saved, is drawn here."));
  const days = lastDays(30);
  const per = (worth) => days.map(({ label, from, to }) => ({ label, value: asked.filter(({ at }) => from <= at && at < to).reduce((sum, each) => sum + worth(each), 0) }));
  const total = (worth) => asked.reduce((sum, each) => sum + worth(each), 0);
  const compact = { unit: "tokens", format: (value) => short.format(value) };
  return card(
    "Spend and savings",
    h(
      "div",
      { class: "stack" },
      bars("Saved, last 30 days", per((each) => each.saved), compact),
      bars("Spent, last 30 days", per((each) => each.cost_usd ?? 0), { unit: "US dollars", format: money }),
      h(
        "details",
        {},
        h("summary", {}, "How savings are counted"),
        h("p", { class: "small" }, `${formula[0].toUpperCase()}${formula.slice(1)}. Over all ${plural(asked.length, "question")}: ${number.format(total((each) => each.reading))} for reading \u2212 ${number.format(total((each) => each.answer))} of answers \u2212 ${number.format(total((each) => each.model))} of the model = ${number.format(total((each) => each.saved))} tokens.`),
      ),
    ),
  );
}

function lastDays(count) {
  const today = new Date();
  today.setHours(0, 0, 0, 0);
  return Array.from({ length: count }, (_, n) => {
    const from = new Date(today);
    from.setDate(today.getDate() - (count - 1 - n));
    const to = new Date(from);
    to.setDate(from.getDate() + 1);
    return { label: from.toLocaleDateString("en", { month: "short", day: "numeric" }), from: from / 1000, to: to / 1000 };
  });
}

// ---- asking ---------------------------------------------------------------------------------

function askCard(about) {
  const result = h("div", {});
  const progress = h("div", { "aria-live": "polite" });
  const field = h("textarea", { id: "question", rows: 2, maxlength: 20000, placeholder: "Where is the session cookie set?", onkeydown: (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  } });
  const button = h("button", { type: "submit", class: "main" }, "Ask");
  const form = h(
    "form",
    { class: "stack tight", onsubmit: (event) => {
      event.preventDefault();
      if (field.value.trim() && !button.disabled) ask(about, field.value, { button, progress, result });
    } },
    h("label", { for: "question" }, "Ask about this codebase"),
    field,
    h("div", { class: "row" }, button, h("span", { class: "soft small" }, "Enter asks, Shift+Enter begins a line")),
  );
  return h("section", { class: "card stack", "aria-label": "Ask" }, form, progress, result);
}

async function ask(about, question, { button, progress, result }) {
  const stop = new AbortController();
  view.stop.signal.addEventListener("abort", () => stop.abort());
  const began = Date.now();
  const step = h("span", {}, "asking\u2026");
  const clock = h("span", { class: "soft nowrap", "aria-hidden": "true" }, "0 s");
  const ticking = setInterval(() => {
    clock.textContent = `${Math.round((Date.now() - began) / 1000)} s`;
  }, 500);
  button.disabled = true;
  swap(result);
  swap(progress, h("div", { class: "working" }, h("span", { class: "spin", "aria-hidden": "true" }), step, clock, h("button", { type: "button", onclick: () => stop.abort() }, "Stop")));
  try {
    const reply = await call("/v1/ask", { body: { ...about, question }, signal: stop.signal });
    for await (const line of pieces(reply, "\n")) {
      const said_ = JSON.parse(line);
      if (said_.error) throw new Refusal(reply.status, said_.error.class, said_.error.message);
      if (said_.progress) step.textContent = `${said_.progress}\u2026`;
      if (said_.answer) {
        swap(result, answerCards(about, { question, ...said_.answer }));
        say("The answer is there.");
      }
    }
    swap(progress);
  } catch (problem) {
    if (problem.name === "AbortError") swap(progress, h("p", { class: "soft" }, "Stopped."));
    else if (problem.status === 401) ended();
    else swap(progress, h("p", { class: "mark-line", role: "alert" }, mark("bad", "No answer"), " ", problem.message));
  } finally {
    clearInterval(ticking);
    button.disabled = false;
  }
}

function answerCards(about, answer) {
  const beside = h("div", { class: "stack" });
  const seen = new Set();
  const show = async (places, { moves }) => {
    const wanted = places.filter((place) => !seen.has(nameOf(place))).slice(0, 24);
    wanted.forEach((place) => seen.add(nameOf(place)));
    if (wanted.length) {
      try {
        const found = await post("/v1/places", { ...about, places: wanted });
        const notes = new Map(answer.citations.map((each) => [nameOf(each), STATUS[each.status]]));
        beside.append(...found.places.map((place) => opened(place, notes.get(nameOf(place)))));
      } catch (problem) {
        if (!(problem instanceof Refusal)) throw problem;
        beside.append(h("p", { class: "soft", role: "alert" }, `The places could not be opened: ${problem.message}`));
      }
    }
    if (moves) {
      const figure = document.getElementById(`place-${nameOf(places[0])}`);
      figure?.scrollIntoView({ block: "nearest" });
      figure?.focus();
    }
  };
  const open = (place) => show([place], { moves: true });
  const later = answer.citations.slice(FIRST_PLACES);
  const rest = later.length ? h("button", { type: "button", onclick: () => {
    rest.remove();
    show(later, { moves: false });
  } }, `Open ${plural(later.length, "more place", "more places")}`) : null;
  show(answer.citations.slice(0, FIRST_PLACES), { moves: false });
  const good = answer.citations.filter((each) => each.status === "verified").length;
  return h(
    "div",
    { class: "two answer" },
    h(
      "section",
      { class: "stack tight", "aria-label": "Answer" },
      h("div", { class: "meta" }, grounding(answer), h("span", {}, GROUNDING[answer.grounding]?.[2])),
      answer.notice ? h("p", { class: "soft" }, answer.notice) : null,
      answer.stop === "answered" ? null : h("p", {}, mark("warn", "Partial"), " It ran out of ", answer.stop === "deadline" ? "time." : "steps."),
      answer.told ? h("aside", { class: "small", "aria-label": "Told, not checked" }, h("p", { class: "soft" }, "Told, not checked"), answer.told.split("\n").map((line) => h("p", {}, line))) : null,
      h("div", { class: "prose" }, blocks(answer.answer, open)),
      h(
        "div",
        { class: "meta" },
        h("span", {}, MODES[answer.mode] ?? answer.mode, answer.model ? ` ${answer.model}` : ""),
        h("span", {}, elapsed(answer.elapsed_s)),
        h("span", {}, answer.usage.model_calls ? `${money(answer.cost_usd)}, ${number.format(answer.usage.input_tokens)} tokens in, ${number.format(answer.usage.output_tokens)} out` : "free"),
        answer.citations.length ? h("span", {}, `${good} of ${plural(answer.citations.length, "place")} stood there`) : null,
      ),
    ),
    h("section", { class: "stack", "aria-label": "Places as they are now" }, h("h3", {}, "The places, as they are now"), answer.citations.length ? [beside, rest] : h("p", { class: "soft" }, "It cites none.")),
  );
}

// ---- findings -------------------------------------------------------------------------------

const factText = (fact, about) => h("p", { class: "prose" }, inline(fact.text, () => go(`#/w/${about.workspace}/findings`)));

function factMeta(fact) {
  return h(
    "div",
    { class: "meta" },
    fact.pinned ? mark("good", "Pinned") : null,
    fact.stale ? mark("warn", "File changed since", "The file of a source has other bytes now. Why shows whether its lines still stand.") : null,
    h("span", {}, `by ${AUTHORS[fact.author] ?? fact.author}, `, time(fact.learned_at)),
    fact.uses ? h("span", {}, `led ${plural(fact.uses, "answer")}`) : null,
  );
}

function findings(about) {
  let [text, only, offset] = ["", "", 0];
  let timer;
  const panels = new Map();
  const list = part(
    "findings",
    () => get("/v1/facts", { ...about, text, offset, limit: ROWS, ...(only ? { [only]: "1" } : {}) }),
    ({ facts, matching, total, rejected }) => {
      const where = matching > ROWS ? `${number.format(offset + 1)}\u2013${number.format(offset + facts.length)} of ${number.format(matching)}` : plural(matching, "finding");
      say(text || only ? `${plural(matching, "finding")}` : "");
      if (!total) return empty("Nothing understood yet", "When an agent ends its work and names the places it found, each sentence that holds becomes a finding here.");
      if (!matching) return empty("No finding is like that", "Change the words or show all.");
      const turn = (by) => () => {
        offset += by;
        panels.clear();
        list.refresh();
        main.scrollIntoView();
      };
      return [
        h("p", { class: "soft small" }, where, rejected && !text && !only ? `; ${plural(rejected, "sentence")} did not hold and ${rejected === 1 ? "was" : "were"} dropped` : ""),
        h("ul", { class: "list" }, facts.map((fact) => factItem(fact, about, panels, list.refresh))),
        matching > ROWS
          ? h("div", { class: "row" }, h("button", { type: "button", "data-key": "newer", disabled: !offset, onclick: turn(-ROWS) }, "Newer"), h("button", { type: "button", "data-key": "older", disabled: offset + facts.length >= matching, onclick: turn(ROWS) }, "Older"))
          : null,
      ];
    },
  );
  const filter = h("input", { type: "search", id: "words", autocomplete: "off", placeholder: "A word, or part of a file's name", oninput: ({ target }) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      [text, offset] = [target.value, 0];
      list.refresh();
    }, 200);
  } });
  const choice = (value, label) => h("label", {}, h("input", { type: "radio", name: "only", checked: only === value, onchange: () => {
    [only, offset] = [value, 0];
    list.refresh();
  } }), label);
  const where = card(null, h("div", { class: "stack" }, h("h2", {}, "What was understood"), h("div", {}, h("label", { for: "words" }, "Find"), filter), h("fieldset", { class: "choices" }, h("legend", { class: "unseen" }, "Show"), choice("", "All"), choice("stale", "File changed since"), choice("pinned", "Pinned")), list.where));
  return { where, refresh: () => list.refresh() };
}

function factItem(fact, about, panels, refresh) {
  const id = fact.id;
  const panel = panels.get(id) ?? h("div", { id: `why-${id}`, hidden: true });
  panels.set(id, panel);
  const why = h("button", { type: "button", "data-key": `why-${id}`, "aria-expanded": String(!panel.hidden), "aria-controls": `why-${id}`, onclick: toggle }, "Why");
  function toggle() {
    panel.hidden = !panel.hidden;
    why.setAttribute("aria-expanded", String(!panel.hidden));
    if (!panel.hidden) reasons(panel, about, id);
  }
  const act = (verb, done) => async () => {
    try {
      await post(`/v1/facts/${verb}`, { ...about, id });
      say(done);
      await refresh();
    } catch (problem) {
      if (!(problem instanceof Refusal)) throw problem;
      swap(panel, h("p", { role: "alert" }, problem.message));
      panel.hidden = false;
    }
  };
  const forget = async () => {
    const sure = await confirmed("Forget this finding?", [h("q", {}, inline(fact.text.slice(0, 300))), " It leads no answer any more, and is not learned again by itself."], "Forget it");
    if (sure) await act("forget", "Forgotten.")();
  };
  return h(
    "li",
    { class: "stack tight" },
    h("p", { class: "prose" }, inline(fact.text, () => panel.hidden && toggle())),
    factMeta(fact),
    h("div", { class: "row" }, why, h("button", { type: "button", "data-key": `pin-${id}`, disabled: fact.pinned, title: "Keep it in every prompt while it holds", onclick: act("pin", "Pinned.") }, fact.pinned ? "Pinned" : "Pin"), h("button", { type: "button", class: "danger", "data-key": `forget-${id}`, onclick: forget }, "Forget")),
    panel,
  );
}

async function reasons(panel, about, id) {
  swap(panel, waiting("the places"));
  try {
    const { fact, stands, places } = await get("/v1/facts/why", { ...about, id });
    const known = [
      ["Said by", `${AUTHORS[fact.author] ?? fact.author}${fact.session ? ` in session ${fact.session}` : ""}, checked against its sources`],
      ["Learned", whole(fact.learned_at)],
      ...(fact.since ? [["True since", `commit ${fact.since.slice(0, 10)}`]] : []),
      ...fact.questions.map((question) => ["Asked in", question]),
    ];
    swap(
      panel,
      h(
        "div",
        { class: "stack tight" },
        h("p", {}, stands ? mark("good", "Still stands") : mark("bad", "No longer stands"), " ", stands ? (fact.stale ? "Its file changed, and the lines that it rests on are there as they were." : "Its lines are there, as they were.") : "The lines that it rests on changed or are gone, so it leads no answer. This is what is there now:"),
        h("dl", { class: "known" }, known.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
        places.map((place) => opened(place)),
      ),
    );
  } catch (problem) {
    if (!(problem instanceof Refusal)) throw problem;
    swap(panel, h("p", { role: "alert" }, problem.message));
  }
}

// ---- questions ------------------------------------------------------------------------------

function questions(about) {
  let shown = ROWS;
  const list = part("questions", () => get("/v1/questions", about), ({ questions: asked }) => {
    if (!asked.length) return empty("No question yet", "Ask one on the summary, or let your agent ask.");
    return [
      h("p", { class: "soft small" }, plural(asked.length, "question")),
      h(
        "ul",
        { class: "list" },
        asked.slice(0, shown).map((each) =>
          h(
            "li",
            {},
            h("a", { class: "title", href: `#/w/${about.workspace}/questions/${each.at}`, "data-key": `q-${each.at}` }, each.question),
            h("div", { class: "meta" }, grounding(each), h("span", {}, time(each.at)), h("span", {}, elapsed(each.elapsed_s)), h("span", {}, costOf(each)), h("span", {}, `${short.format(each.saved)} tokens saved`)),
          ),
        ),
      ),
      asked.length > shown ? h("button", { type: "button", "data-key": "more", onclick: () => { shown += ROWS; list.redraw(); } }, "Show more") : null,
    ];
  });
  return { where: card("Questions and their answers", list.where), refresh: list.refresh };
}

function oneAnswer(about, at) {
  const one = part("the answer", () => get("/v1/answers", { ...about, at }), ({ answers: [answer] }) => {
    if (!answer) return empty("This answer is not kept any more", "Only the last ones are.");
    return [h("p", { class: "small" }, h("a", { href: `#/w/${about.workspace}/questions` }, "All questions"), ", asked ", time(answer.asked_at)), h("h2", { class: "prose" }, answer.question), answerCards(about, answer)];
  });
  return { where: h("div", { class: "card" }, one.where) };
}

// ---- timeline -------------------------------------------------------------------------------

const KINDS = { heard: "Reading and editing", asked: "Questions", learned: "Findings", compacted: "Compactions" };
const ORIGINS = { read: "The agent read", edit: "The agent edited", tool: "The companion read", disk: "Seen on the disk:" };
const TOGETHER_S = 120;

function timeline(about) {
  let most = 100;
  const kinds = new Set(Object.keys(KINDS));
  const load = async () => {
    const [told, asked] = await Promise.all([get("/v1/activity", about), get("/v1/questions", about)]);
    return [told, asked.questions];
  };
  const draw = ([{ heard, learned, compactions }, asked]) => {
    const events = [
      ...together(heard),
      ...asked.map((each) => ({ kind: "asked", at: each.at, row: [h("a", { href: `#/w/${about.workspace}/questions/${each.at}` }, each.question), h("div", { class: "meta" }, grounding(each), h("span", {}, elapsed(each.elapsed_s)), h("span", {}, costOf(each)))] })),
      ...learned.map((each) => ({ kind: "learned", at: each.at, row: [`Understood ${plural(each.facts, "thing")} from ${AUTHORS[each.author] ?? each.author}`, each.task ? h("div", { class: "soft small" }, `Task: ${each.task}`) : null] })),
      ...compactions.map((each) => ({ kind: "compacted", at: each.at, row: [`Compacted: ${compacted(each)}`, h("div", { class: "soft small" }, `${short.format(each.tokens_before)} tokens before, ${short.format(each.tokens_after)} after`)] })),
    ].filter((event) => kinds.has(event.kind)).sort((a, b) => b.at - a.at);
    if (!events.length) return empty("Nothing happened yet", "What your agent reads and edits here, questions, findings and compactions appear as they happen.");
    return [days(events.slice(0, most)), events.length > most ? h("button", { type: "button", "data-key": "more", onclick: () => { most += 200; list.redraw(); } }, "Show earlier") : null];
  };
  const list = part("what happened", load, draw);
  const box = ([kind, label]) => h("label", {}, h("input", { type: "checkbox", checked: true, onchange: ({ target }) => {
    if (target.checked) kinds.add(kind);
    else kinds.delete(kind);
    list.redraw();
  } }), label);
  return { where: card("What happened", h("fieldset", { class: "choices" }, h("legend", { class: "unseen" }, "Show"), Object.entries(KINDS).map(box)), list.where), refresh: list.refresh };
}

/** Entries that follow each other closely and are of one kind, in one row. */
function together(entries) {
  const groups = [];
  for (const entry of entries) {
    const what = entry.kind === "file" ? (ORIGINS[entry.origin] ?? "Seen:") : { changed: "Changed on the disk:", gone: "Deleted:", note: "Noted:" }[entry.kind];
    const name = entry.kind === "file" && entry.end ? nameOf(entry) : (entry.path ?? entry.text);
    const last = groups[groups.length - 1];
    if (last && last.what === what && last.at - entry.at < TOGETHER_S) last.names.push(name);
    else groups.push({ kind: "heard", what, at: entry.at, names: [name] });
  }
  return groups.map((group) => ({ ...group, row: namesRow(group) }));
}

function namesRow({ what, names }) {
  const shown = (some) => some.flatMap((name, n) => [n ? ", " : " ", h("code", {}, name)]);
  if (names.length <= 4) return [what, shown(names)];
  return [what, shown(names.slice(0, 3)), h("details", {}, h("summary", {}, `and ${number.format(names.length - 3)} more`), h("p", { class: "small" }, shown(names.slice(3, 200))))];
}

function days(events) {
  const found = [];
  let day = "";
  let list;
  for (const { at, row } of events) {
    const today = date(at).toLocaleDateString("en", { weekday: "long", month: "long", day: "numeric" });
    if (today !== day) {
      day = today;
      list = h("ol", { class: "list" });
      found.push(h("h3", { class: "day" }, day), list);
    }
    const clock = date(at).toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hour12: false });
    list.append(h("li", { class: "event" }, h("time", { class: "when", datetime: date(at).toISOString(), title: whole(at) }, clock), h("div", {}, row)));
  }
  return found;
}

// ---- which view -----------------------------------------------------------------------------

const go = (address) => {
  location.hash = address;
};

function route() {
  view.stop.abort();
  Object.assign(view, { stop: new AbortController(), refresh: null, workspace: null });
  if (!key()) return locked();
  const [first = "", id = "", tab = "", rest = ""] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  const [name, drawn] = first === "w" && /^[0-9a-f]{32}$/.test(id) ? workspace(id, tab, rest) : first === "health" ? health() : overview();
  document.title = `${name} \u2013 Live Memory`;
  for (const link of document.querySelectorAll("[data-nav]")) {
    if (link.dataset.nav === (first === "health" ? "health" : first === "" ? "overview" : "")) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.getElementById("nav").hidden = false;
  swap(main, h("div", { class: "stack" }, drawn));
  glanceQuietly();
  return undefined;
}

function locked(why = "") {
  document.getElementById("nav").hidden = true;
  swap(document.getElementById("glance"));
  document.title = "Live Memory";
  swap(
    main,
    h(
      "section",
      { class: "card stack tight" },
      h("h1", { tabindex: "-1" }, "Open this page from a terminal"),
      why ? h("p", { role: "alert" }, why) : null,
      h("p", {}, "What is remembered of your code is for you alone, so this page opens by a link that works once:"),
      h("code", { class: "command" }, "live-memory ui"),
    ),
  );
}

function ended() {
  sessionStorage.removeItem(KEY);
  clearTimeout(refreshTimer);
  view.stop.abort();
  stopListening();
  locked("The server was started anew, and this page's key ended with the old one.");
}

// ---- news -----------------------------------------------------------------------------------

let listening = null;
let refreshAt = 0;
let refreshTimer;

function stopListening() {
  listening?.abort();
  listening = null;
}

/** Bring what is shown up to date, once a second at most. */
function refreshSoon() {
  clearTimeout(refreshTimer);
  refreshTimer = setTimeout(() => {
    refreshAt = Date.now();
    view.refresh?.();
    glanceQuietly();
  }, Math.max(0, refreshAt + 1500 - Date.now()));
}

async function glanceQuietly() {
  if (!key()) return;
  try {
    await glance();
  } catch (problem) {
    if (!(problem instanceof Refusal)) throw problem;
    if (problem.status === 401) ended();
  }
}

async function listen() {
  const mine = new AbortController();
  listening = mine;
  for (let pause = 1; !mine.signal.aborted; pause = Math.min(pause * 2, 15)) {
    try {
      const reply = await call("/v1/events", { signal: mine.signal });
      refreshSoon();
      for await (const message of pieces(reply, "\n\n")) {
        pause = 1;
        const { changed } = JSON.parse(message.replace(/^data: /, ""));
        if (changed.some((name) => name === "server" || !view.workspace || name === view.workspace)) refreshSoon();
      }
    } catch (problem) {
      if (problem.status === 401) return ended();
      if (mine.signal.aborted) return undefined;
    }
    swap(document.getElementById("glance"), h("li", {}, mark("bad", "The server does not answer")));
    await new Promise((resolve) => setTimeout(resolve, 1000 * pause));
  }
  return undefined;
}

setInterval(() => {
  for (const each of document.querySelectorAll("time.ago")) each.textContent = relative(Date.parse(each.dateTime) / 1000);
}, 30_000);

// A page that nobody looks at costs the server nothing.
let hiddenTimer;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiddenTimer);
  if (document.hidden) hiddenTimer = setTimeout(stopListening, 30_000);
  else if (!listening && key()) listen();
});

/** Take the secret out of the address and get the key for it. */
async function open() {
  const given = new URLSearchParams(location.hash.startsWith("#open=") ? location.hash.slice(1) : "");
  if (given.has("open")) {
    history.replaceState(null, "", "/ui#/");
    try {
      const reply = await call("/v1/page/key", { body: {}, secret: given.get("open") });
      sessionStorage.setItem(KEY, (await reply.json()).key);
      await goNear(given.get("in"));
    } catch (problem) {
      if (!(problem instanceof Refusal)) throw problem;
      if (!key()) return locked(problem.status === 0 ? problem.message : "This link was used before, or is older than a minute.");
    }
  }
  route();
  window.addEventListener("hashchange", () => {
    if (location.hash.startsWith("#open=")) return location.reload();
    route();
    main.focus();
    window.scrollTo(0, 0);
    return undefined;
  });
  if (key()) listen();
  return undefined;
}

/** Begin with the codebase that the command was called in. */
async function goNear(folder) {
  if (!folder) return;
  const { workspaces } = await get("/v1/workspaces", {});
  const around = workspaces.filter(({ root }) => folder === root || folder.startsWith(`${root}/`));
  around.sort((a, b) => b.root.length - a.root.length);
  if (around.length) history.replaceState(null, "", `/ui#/w/${around[0].key}`);
}

open();
