// All codebases, and how the server is.
import { bars, table } from "./charts.js";
import { card, empty, part, ROWS, say, swap, view } from "./drawing.js";
import { get } from "./server.js";
import { h, inline } from "./text.js";
import { base, date, mark, money, number, plural, short, time } from "./words.js";

const overviewOf = () => get("/v1/overview");

export async function glance() {
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

export function overview() {
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

export const sentences = (texts) => h("ul", { class: "list" }, texts.map((text) => h("li", { class: "prose" }, text.charAt(0).toUpperCase() + text.slice(1))));
const CAUSES = { ask: "Questions", compaction: "Compaction", "keep-warm": "Keeping the cache warm" };

export function health() {
  const state = part("the server's state", glance, (found) => {
    const { reasons, notes, model, caps, spend, spent_lately: lately } = found;
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
          ? [h("p", {}, `${model.model} answers questions${model.is_subscription ? " on your subscription" : ""}.`), limits(caps, lately)]
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

function limits({ tokens_an_hour: tokens, usd_a_day: usd }, lately) {
  return h(
    "ul",
    { class: "meta plain" },
    h("li", {}, usd ? `${money(lately.usd_a_day)} of ${money(usd)} a day` : "no cap on dollars a day"),
    h("li", {}, tokens ? `${short.format(lately.tokens_an_hour)} of ${short.format(tokens)} tokens an hour` : "no cap on tokens an hour"),
  );
}
