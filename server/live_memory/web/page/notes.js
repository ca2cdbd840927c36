// One list of all that is kept of a codebase, with filters, and the form that adds a note to it.
import { card, empty, part, ROWS, say, swap } from "./drawing.js";
import { factItem } from "./findings.js";
import { field, listOf, submitting } from "./forms.js";
import { post } from "./server.js";
import { h } from "./text.js";
import { CATEGORIES, handoffItem, noteItem, shelf, when, writerOf } from "./told.js";
import { grounding, mark, number, plural, relative } from "./words.js";

const KINDS = { note: "Notes", handoff: "Handoffs", finding: "Findings", fact: "Facts", question: "Questions" };
const WRITERS = { agent: "the coding agent", subagent: "one of its helpers", person: "a person", companion: "the model that answers", summary: "a model, when entries were compacted" };
const SCOPES = { "": "Both", workspace: "This codebase", user: "All projects" };
const EXPIRY = { "": "Never", "1d": "In a day", "7d": "In a week", "30d": "In 30 days", "365d": "In a year" };
const FILTERS = { kinds: "note", text: "", category: "", author: "", scope: "", since: "" };
const options = (choices, chosen) => Object.entries(choices).map(([value, label]) => h("option", { value, selected: value === chosen }, label));

/** The list; `asked` are filters that the address names. */
export function notes(about, asked) {
  const filters = Object.fromEntries(Object.entries(FILTERS).map(([name, usual]) => [name, asked.get(name) ?? usual]));
  let offset = 0;
  const kept = shelf(about, () => list.refresh());
  const list = part("what was told", () => found(about, filters, offset), (reply) => {
    const { records, total } = reply;
    const kinds = kindsIn(filters);
    say(`${number.format(total)} found`);
    if (!kinds.length) return empty("Nothing is chosen", "Choose above what is shown.");
    if (!total) return isUsual(filters) ? empty("Nothing was told yet", "Add a note above, or let your agent: what cannot be read from the code, and should not be found out twice.") : empty("Nothing is like that", "Change the filters, or clear them.");
    const turn = (by) => () => {
      offset = Math.max(0, offset + by);
      list.refresh();
      list.where.scrollIntoView({ block: "start" });
    };
    const last = Math.min(offset + ROWS, total);
    const left = last - offset - records.length;
    return [
      h("p", { class: "soft small" }, total > ROWS ? `${number.format(offset + 1)}\u2013${number.format(last)} of ${number.format(total)}` : plural(total, "record"), filters.text.trim() ? ", the best first" : ", the newest first", left > 0 ? `; ${plural(left, "finding")} among them no longer ${left === 1 ? "stands" : "stand"} and ${left === 1 ? "is" : "are"} not shown` : ""),
      h("ul", { class: "list" }, records.map((each) => recordItem(each, kept))),
      total > ROWS ? h("div", { class: "row" }, h("button", { type: "button", "data-key": "previous", disabled: !offset, onclick: turn(-ROWS) }, "Previous"), h("button", { type: "button", "data-key": "next", disabled: last >= total, onclick: turn(ROWS) }, "Next")) : null,
    ];
  });
  const changed = () => {
    offset = 0;
    swap(kept.done);
    remember(about, filters);
    list.refresh();
  };
  return { where: h("div", { class: "stack" }, addCard(about, list.refresh), card("What was told", filterForm(filters, changed), kept.done, list.where)), refresh: list.refresh };
}

const kindsIn = ({ kinds }) => kinds.split(",").filter((kind) => kind in KINDS);
const isUsual = (filters) => Object.entries(FILTERS).every(([name, usual]) => name === "kinds" || filters[name] === usual);

/** One page of records in full. */
async function found(about, filters, offset) {
  const { kinds, text, category, author, scope, since } = filters;
  if (!kindsIn(filters).length) return { records: [], total: 0 };
  const query = { ...about, kinds: kindsIn({ kinds }), text: text.trim(), category, author: author.trim(), scope, since: since && localMidnight(since), limit: ROWS, offset };
  const { found: some, total } = await post("/v1/recall", query);
  if (!some.length) return { records: [], total };
  const whole = await post("/v1/recall", { ...about, ids: some.map((each) => each.id), limit: some.length });
  // One may have been forgotten in between.
  return { records: whole.found.filter(({ record }) => !record.withdrawn), total };
}

function localMidnight(day) {
  const at = new Date(`${day}T00:00`);
  return Number.isNaN(at.getTime()) ? "" : at.toISOString();
}

/** The address names the filters, so that going back finds them again. */
function remember({ workspace }, filters) {
  const named = Object.entries(filters).filter(([name, value]) => value !== FILTERS[name]);
  const query = new URLSearchParams(named).toString();
  history.replaceState(null, "", `#/w/${workspace}/notes${query ? `?${query}` : ""}`);
}

function recordItem(each, kept) {
  const { kind, record } = each;
  if (kind === "note") return noteItem(each, kept);
  if (kind === "handoff") return handoffItem(record, kept);
  if (kind === "question") return questionItem(each, kept);
  const above = h("div", { class: "meta" }, mark("kind", kind === "fact" ? "Fact" : "Finding"), record.pinned ? mark("good", "Pinned") : null, mark("", "Checked", "It stood in its sources when it was learned, and they are as they were."));
  const meta = h("div", { class: "meta" }, h("span", {}, "by ", writerOf(each.writer, kept.about)), h("span", {}, when(each.at)));
  return factItem({ ...record, text: each.text }, kept.about, kept.panels, kept.refresh, { above, meta });
}

function questionItem({ record, writer, at }, { about }) {
  return h(
    "li",
    { class: "stack tight" },
    h("div", { class: "meta" }, mark("kind", "Question"), grounding(record)),
    h("a", { class: "title", href: `#/w/${about.workspace}/questions/${record.asked_at}`, "data-key": `q-${record.asked_at}` }, record.question),
    h("div", { class: "meta" }, h("span", {}, writer.author === "companion" ? "answered by a model" : "answered from the index"), h("span", {}, when(at))),
  );
}

// ---- filters --------------------------------------------------------------------------------

function filterForm(filters, changed) {
  let timer;
  const set = (name, wait = 0) => ({ target }) => {
    filters[name] = target.value;
    clearTimeout(timer);
    timer = setTimeout(changed, wait);
  };
  const toggle = (kind) => ({ target }) => {
    const rest = kindsIn(filters).filter((each) => each !== kind);
    filters.kinds = Object.keys(KINDS).filter((each) => rest.includes(each) || (target.checked && each === kind)).join(",");
    changed();
  };
  const box = ([kind, label]) => h("label", {}, h("input", { type: "checkbox", name: "kinds", value: kind, checked: kindsIn(filters).includes(kind), onchange: toggle(kind) }), label);
  const choose = (name, label, choices) => field(name, label, h("select", { onchange: set(name) }, options(choices, filters[name]))).where;
  const clear = () => {
    Object.assign(filters, FILTERS);
    swap(form, inner());
    changed();
    form.querySelector("#words").focus();
  };
  const inner = () => [
    h("fieldset", { class: "choices" }, h("legend", { class: "unseen" }, "Show"), Object.entries(KINDS).map(box)),
    field("words", "Find", h("input", { type: "search", autocomplete: "off", maxlength: 500, placeholder: "Words that it holds", value: filters.text, oninput: set("text", 250) })).where,
    h(
      "div",
      { class: "fields" },
      choose("category", "Category", { "": "All", ...CATEGORIES }),
      field("author", "Told by", h("input", { type: "text", autocomplete: "off", maxlength: 200, list: "writers", placeholder: "Who, or host", value: filters.author, oninput: set("author", 250) })).where,
      h("datalist", { id: "writers" }, options(WRITERS, "")),
      choose("scope", "Kept for", SCOPES),
      field("since", "Since", h("input", { type: "date", value: filters.since, onchange: set("since") })).where,
    ),
    h("div", {}, h("button", { type: "button", "data-key": "clear", onclick: clear }, "Clear filters")),
  ];
  const form = h("form", { class: "stack tight filters", role: "search", "aria-label": "Filters", onsubmit: (event) => event.preventDefault() }, inner());
  return form;
}

// ---- adding a note --------------------------------------------------------------------------

function addCard(about, refresh) {
  const text = field("note-text", "What is to be remembered", h("textarea", { rows: 3, required: true, maxlength: 16384, placeholder: "We retry 7 times (limits.py:3), because the gateway drops three." }), "In whole sentences; name places as path:line. Secrets are taken out.");
  const category = field("note-category", "Category", h("select", {}, options(CATEGORIES, "decision")));
  const tags = field("note-tags", "Tags", h("input", { type: "text", autocomplete: "off", placeholder: "retries, gateway" }), "With commas between them.");
  const expires = field("note-expires", "Ends", h("select", {}, options(EXPIRY, "")));
  const pin = h("input", { type: "checkbox" });
  const scopes = ["workspace", "user"].map((value) => h("input", { type: "radio", name: "note-scope", value, checked: value === "workspace" }));
  const told = h("div", { "aria-live": "polite" });
  const button = h("button", { type: "submit", class: "main" }, "Remember");
  const add = async () => {
    const body = { ...about, text: text.input.value, category: category.input.value, tags: listOf(tags.input.value, ","), pin: pin.checked, expires: expires.input.value, scope: scopes[1].checked ? "user" : "workspace" };
    const done = await post("/v1/remember", body);
    form.reset();
    swap(told, rememberedText(done));
    await refresh();
  };
  const form = h(
    "form",
    { class: "stack tight", "aria-label": "Add a note", onsubmit: submitting(add, { button, told }) },
    text.where,
    h("div", { class: "fields" }, category.where, tags.where, expires.where),
    h(
      "div",
      { class: "row ends" },
      h("fieldset", { class: "choices" }, h("legend", {}, "Kept for"), h("label", {}, scopes[0], "This codebase"), h("label", {}, scopes[1], "All my projects")),
      h("div", { class: "choices" }, h("label", { title: "It comes first among what is as good" }, pin, "Pinned")),
    ),
    h("div", { class: "row" }, button),
    told,
  );
  return h("details", { class: "card more" }, h("summary", {}, "Add a note"), form);
}

function rememberedText({ note, new: isNew, redacted, not_found: missing }) {
  return h(
    "p",
    {},
    isNew ? mark("good", "Remembered") : mark("", "Known already"),
    isNew ? ` as ${note.id}.` : ` as ${note.id}, told ${relative(note.told_at)}.`,
    redacted ? ` ${plural(redacted, "secret was", "secrets were")} taken out.` : "",
    missing.length ? [" Not found here: ", missing.flatMap((place, n) => [n ? ", " : "", h("code", {}, place)]), "."] : "",
  );
}
