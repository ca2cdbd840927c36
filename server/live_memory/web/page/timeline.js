// What happened, newest first.
import { card, empty, part } from "./drawing.js";
import { get } from "./server.js";
import { compacted } from "./summary.js";
import { h, nameOf } from "./text.js";
import { AUTHORS, costOf, date, elapsed, grounding, number, plural, short, whole } from "./words.js";

const KINDS = { heard: "Reading and editing", asked: "Questions", learned: "Findings", compacted: "Compactions" };
const ORIGINS = { read: "The agent read", edit: "The agent edited", tool: "The companion read", disk: "Seen on the disk:" };
const TOGETHER_S = 120;

export function timeline(about) {
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
