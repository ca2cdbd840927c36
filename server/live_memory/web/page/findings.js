// Findings: why each is believed, pinning and forgetting them.
import { card, confirmed, empty, go, main, opened, part, ROWS, say, swap, waiting } from "./drawing.js";
import { get, post, Refusal } from "./server.js";
import { h, inline } from "./text.js";
import { AUTHORS, mark, number, plural, time, whole } from "./words.js";

export const factText = (fact, about) => h("p", { class: "prose" }, inline(fact.text, () => go(`#/w/${about.workspace}/findings`)));

export function factMeta(fact) {
  return h(
    "div",
    { class: "meta" },
    fact.pinned ? mark("good", "Pinned") : null,
    fact.stale ? mark("warn", "File changed since", "The file of a source has other bytes now. Why shows whether its lines still stand.") : null,
    h("span", {}, `by ${AUTHORS[fact.author] ?? fact.author}, `, time(fact.learned_at)),
    fact.uses ? h("span", {}, `led ${plural(fact.uses, "answer")}`) : null,
  );
}

export function findings(about) {
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

/** A finding with what can be done to it; `above` and `meta` stand over and under its text. */
export function factItem(fact, about, panels, refresh, { above = null, meta = factMeta(fact) } = {}) {
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
    above,
    h("p", { class: "prose" }, inline(fact.text, () => panel.hidden && toggle())),
    meta,
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
