// One codebase at a glance.
import { askCard } from "./answers.js";
import { bars, meter } from "./charts.js";
import { card, empty, part, tile } from "./drawing.js";
import { factMeta, factText } from "./findings.js";
import { sentences } from "./overview.js";
import { get, post } from "./server.js";
import { h } from "./text.js";
import { CATEGORIES, writerOf } from "./told.js";
import { cut, mark, money, number, plural, short, time } from "./words.js";

// Characters of a note that are shown here.
const MOST_TOLD = 240;

export function summary(about) {
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
  const told = part("what was told", () => post("/v1/recall", { ...about, limit: 3 }), (reply) => toldCard(reply, about));
  const parts = [figures, window_, over, last, told];
  const refresh = () => parts.forEach((each) => each.refresh());
  return { where: h("div", { class: "stack" }, figures.where, askCard(about), h("div", { class: "two" }, h("div", { class: "stack" }, window_.where, told.where, last.where), over.where)), refresh };
}

function toldCard({ found, total }, { workspace }) {
  const all = `#/w/${workspace}/notes?kinds=note%2Chandoff`;
  return card(
    "Told last",
    total
      ? h("ul", { class: "list" }, found.map((each) => h("li", {}, h("p", { class: "prose", dir: "auto" }, cut(each.text, MOST_TOLD)), h("div", { class: "meta" }, mark("kind", each.kind === "note" ? (CATEGORIES[each.category] ?? each.category) : `Handoff, ${each.state}`), h("span", {}, "by ", writerOf(each.writer, { workspace })), h("span", {}, time(each.at))))))
      : empty("Nothing yet", "What agents and you tell each other: why something was decided, what is open, what the next one should do."),
    h("p", { class: "small" }, h("a", { href: all }, total > found.length ? `All ${plural(total, "note and handoff", "notes and handoffs")}` : "Notes and handoffs")),
  );
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

export function compacted({ entries, facts, by_model: byModel }) {
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
