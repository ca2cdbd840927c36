// What somebody told, as it is shown wherever it stands: who told it, when, and about which places.
import { confirmed, main, opened, say, swap, view, waiting } from "./drawing.js";
import { field } from "./forms.js";
import { HOST, post, Refusal } from "./server.js";
import { blocks, h, inline, nameOf, placeButton } from "./text.js";
import { AUTHORS, cut, mark, minute, number, plural, time } from "./words.js";

export const CATEGORIES = { decision: "Decision", todo: "To do", insight: "Insight", question: "Open question", progress: "Progress", issue: "Issue", observation: "Observation", preference: "Preference" };
// A longer text begins so far, and is shown whole on demand.
const FIRST_CHARACTERS = 900;
const FIRST_LINES = 14;
const LONGEST_SESSION = 12;
const LONGEST_QUOTE = 300;
// Lines that are shown of a file that is named without any.
const FIRST_OF_FILE = 40;
const STATES = { open: ["busy", "Open"], claimed: ["good", "Claimed"], cancelled: ["", "Cancelled"], expired: ["", "Expired"] };

const toldMark = () => mark("", "Told, not checked", "Somebody said so. Nothing looked whether it is true.");

/** What a list keeps of its records while it is drawn anew: what is open, and `done`, which says above
 * it what was done.
 */
export const shelf = (about, refresh) => ({ about, refresh, panels: new Map(), whole: new Set(), calls: new Map(), done: h("div", { class: "done" }) });

// ---- who and when ---------------------------------------------------------------------------

/** Who told something: what they are, by which name, in which host and session. */
export function writerOf({ author, name, host, session }, about) {
  const where = host === HOST ? " on this page" : host ? ` in ${host}` : "";
  const who = `${name ? `${name}, ` : ""}${AUTHORS[author] ?? author}${where}`;
  if (!session) return [who];
  const start = session.length > LONGEST_SESSION ? session.slice(0, LONGEST_SESSION - 4) : session;
  const all = `#/w/${about.workspace}/notes?${new URLSearchParams({ kinds: "note,handoff", author: start })}`;
  return [who, ", session ", h("a", { href: all, title: `All that was told in session ${session}` }, start)];
}

/** How long ago, and the date. */
export const when = (at) => [time(at), " (", h("span", { class: "nowrap" }, minute(at)), ")"];

// ---- places ---------------------------------------------------------------------------------

/** The panel beside a record, in which places are opened as they are now. */
function panelOf(id, { about, panels }) {
  if (!panels.has(id)) panels.set(id, h("section", { id: `places-${id}`, class: "stack tight beside", "aria-label": "Places as they are now", hidden: true }));
  const panel = panels.get(id);
  const button = () => main.querySelector(`[aria-controls="places-${CSS.escape(id)}"]`);
  const show = (open) => {
    panel.hidden = !open;
    button()?.setAttribute("aria-expanded", String(open));
  };
  const close = () => {
    show(false);
    (button() ?? main).focus({ preventScroll: true });
  };
  const head = h("div", { class: "row spread" }, h("h3", {}, "The places, as they are now"), h("button", { type: "button", onclick: close }, "Close"));
  const open = async (places, noteOf = () => null) => {
    const shown = h("div", { class: "stack tight" });
    show(true);
    swap(panel, head, shown);
    swap(shown, waiting("the places"));
    try {
      const found = await post("/v1/places", { ...about, places });
      swap(shown, found.places.map((place) => opened(place, noteOf(place))));
    } catch (problem) {
      if (!(problem instanceof Refusal)) throw problem;
      swap(shown, h("p", { role: "alert" }, `This cannot be opened: ${problem.message}`));
    }
    for (const figure of shown.querySelectorAll("figure")) figure.id = `${id}-${figure.id}`;
    return shown;
  };
  const openOne = async (place) => {
    const shown = await open([place]);
    const figure = shown.querySelector("figure") ?? shown;
    figure.setAttribute("tabindex", "-1");
    figure.setAttribute("data-key", `opened-${id}`);
    figure.focus({ preventScroll: true });
    figure.scrollIntoView({ block: "nearest" });
  };
  return { panel, open, openOne, show };
}

function placesButton(id, label, places, noteOf, { panel, open, show }) {
  const toggle = () => (panel.hidden ? open(places, noteOf) : show(false));
  return h("button", { type: "button", "data-key": `places-${id}`, "aria-expanded": String(!panel.hidden), "aria-controls": `places-${id}`, onclick: toggle }, label);
}

/** A text that may be long, with its places as buttons. */
function textOf(id, text, openOne, kept) {
  const where = h("div", { class: "prose", dir: "auto" });
  const start = beginning(text);
  const more = h("button", { type: "button", class: "link", "data-key": `more-${id}`, onclick: () => {
    if (!kept.whole.delete(id)) kept.whole.add(id);
    draw();
  } });
  const draw = () => {
    const isWhole = kept.whole.has(id);
    swap(where, blocks(isWhole ? text : start, openOne));
    more.textContent = isWhole ? "Show less" : "Show all of it";
    more.setAttribute("aria-expanded", String(isWhole));
  };
  if (start === text) {
    swap(where, blocks(text, openOne));
    return [where];
  }
  draw();
  return [where, h("div", {}, more)];
}

function beginning(text) {
  const lines = text.split("\n");
  const some = lines.length > FIRST_LINES + 2 ? `${lines.slice(0, FIRST_LINES).join("\n")}\n\u2026` : text;
  return cut(some, FIRST_CHARACTERS);
}

// ---- a note ---------------------------------------------------------------------------------

export function noteItem({ record: note, scope, changed }, kept) {
  const { id, text, tags, sources } = note;
  const places = panelOf(id, kept);
  const isOld = new Set(changed);
  const noteOf = (place) => (isOld.has(nameOf(place)) ? "changed since it was told" : null);
  const forget = async () => {
    const why = field("why", "Why, for whoever asks later", h("input", { type: "text", maxlength: 2000, autocomplete: "off" }), "May be left empty.");
    const quoted = h("q", {}, cut(text, LONGEST_QUOTE));
    if (!(await confirmed("Forget this note?", [quoted, " It is told to nobody any more, and the same words are not taken again."], "Forget it", { field: why.where, leave: "Keep it" }))) return;
    await tried(kept, async () => {
      await post("/v1/forget", { ...kept.about, ids: [id], reason: why.input.value });
      return ["Forgotten: ", quoted.cloneNode(true)];
    });
  };
  return h(
    "li",
    { class: "told" },
    h(
      "div",
      { class: "stack tight" },
      h(
        "div",
        { class: "meta" },
        mark("kind", CATEGORIES[note.category] ?? note.category),
        note.pinned ? mark("good", "Pinned") : null,
        scope === "user" ? mark("busy", "All projects", "Kept for you in every codebase") : null,
        changed.length ? mark("warn", `Changed since: ${changed[0]}${changed.length > 1 ? ` and ${number.format(changed.length - 1)} more` : ""}`, "The lines that it names are others now.") : null,
        toldMark(),
      ),
      textOf(id, text, scope === "user" ? undefined : places.openOne, kept),
      h("div", { class: "meta" }, h("span", {}, "by ", writerOf(note.writer, kept.about)), h("span", {}, when(note.told_at)), note.expires_at ? h("span", {}, `counts until ${minute(note.expires_at)}`) : null),
      tags.length ? h("ul", { class: "meta plain tags", "aria-label": "Tags" }, tags.map((tag) => h("li", {}, `#${tag}`))) : null,
      h("div", { class: "row" }, sources.length ? placesButton(id, plural(sources.length, "place"), sources.slice(0, 24).map(placeOf), noteOf, places) : null, h("button", { type: "button", class: "danger", "data-key": `forget-${id}`, onclick: forget }, "Forget")),
    ),
    places.panel,
  );
}

const placeOf = ({ path, start, end }) => ({ path, start, end });

// ---- a handoff ------------------------------------------------------------------------------

export function handoffItem(handoff, kept) {
  const { id, summary, state, claim, cancelled, files } = handoff;
  const places = panelOf(id, kept);
  const [kind, word] = STATES[state] ?? ["", state];
  const part_ = (title, texts) => (texts.length ? [h("h3", {}, title), h("ul", {}, texts.map((text) => h("li", { dir: "auto" }, inline(text, places.openOne))))] : []);
  return h(
    "li",
    { class: "told" },
    h(
      "div",
      { class: "stack tight" },
      h(
        "div",
        { class: "meta" },
        mark("kind", "Handoff"),
        mark(kind, word),
        handoff.automatic ? mark("", "Automatic", "Made at the end of a session, from what was done in it") : null,
        handoff.to_agent ? mark("", `For ${handoff.to_agent}`, "Offered to it; others may claim it too") : null,
        toldMark(),
      ),
      textOf(id, summary, places.openOne, kept),
      h(
        "div",
        { class: "prose" },
        part_("Next steps", handoff.next_steps),
        part_("Open questions", handoff.open_questions),
        files.length ? [h("h3", {}, "Files"), h("ul", {}, files.map((file) => h("li", {}, fileButton(file, places.openOne))))] : [],
      ),
      h("div", { class: "meta" }, h("span", {}, "left by ", writerOf(handoff.writer, kept.about)), h("span", {}, when(handoff.left_at)), state === "open" ? h("span", {}, `can be claimed until ${minute(handoff.expires_at)}`) : null, state === "expired" ? h("span", {}, `nobody claimed it until ${minute(handoff.expires_at)}`) : null),
      claim ? h("p", { class: "small" }, "Claimed by ", writerOf(claim.by, kept.about), ", ", when(claim.at), ".") : null,
      cancelled ? h("p", { class: "small" }, "Cancelled by ", writerOf(cancelled.by, kept.about), ", ", when(cancelled.at), cancelled.reason ? `: ${cancelled.reason}` : ".") : null,
      state === "open" ? handoffActions(handoff, kept) : null,
    ),
    places.panel,
  );
}

function handoffActions({ id, summary }, kept) {
  const quoted = h("q", {}, cut(summary, LONGEST_QUOTE));
  const act = (fields) => post("/v1/handoff", { ...kept.about, id, ...fields }, { "X-Live-Memory-Call": callOf(`claim ${id}`, kept) });
  const claim = async () => {
    if (!(await confirmed("Claim this handoff?", [quoted, " One takes it over; it is offered to nobody else then."], "Claim it"))) return;
    await tried(kept, async () => {
      const { claimed, handoff } = await act({ action: "claim" });
      return claimed ? ["It is yours: ", quoted.cloneNode(true)] : ["Somebody was faster: ", writerOf(handoff.claim.by, kept.about), ", ", when(handoff.claim.at), "."];
    });
  };
  const cancel = async () => {
    const why = field("why", "Why, for whoever asks later", h("input", { type: "text", maxlength: 2000, autocomplete: "off" }), "May be left empty.");
    if (!(await confirmed("Cancel this handoff?", [quoted, " Nobody can claim it any more."], "Cancel it", { field: why.where, leave: "Keep it" }))) return;
    await tried(kept, async () => {
      await act({ action: "cancel", reason: why.input.value });
      return ["Cancelled: ", quoted.cloneNode(true)];
    });
  };
  return h("div", { class: "row" }, h("button", { type: "button", "data-key": `claim-${id}`, onclick: claim }, "Claim"), h("button", { type: "button", class: "danger", "data-key": `cancel-${id}`, onclick: cancel }, "Cancel it"));
}

/** The same for the same thing, so that a second try counts once. */
export function callOf(what, { calls }) {
  if (!calls.has(what)) calls.set(what, crypto.randomUUID());
  return calls.get(what);
}

/** A file as it was written, `path` or `path:first-last`. */
function fileButton(file, open) {
  const [, path, start, end] = /^(.+?)(?::(\d{1,9})(?:-(\d{1,9}))?)?$/s.exec(file) ?? [];
  if (!path) return file;
  const first = Number(start ?? 1);
  return placeButton({ path, start: first, end: start ? Number(end ?? first) : FIRST_OF_FILE }, open, file);
}

// ---- what was done --------------------------------------------------------------------------

/** Do something to a record, and say above the list what became of it: it may be gone from there. */
async function tried(kept, work) {
  const tell = (what) => {
    const close = () => {
      swap(kept.done);
      main.focus({ preventScroll: true });
    };
    swap(kept.done, h("p", {}, what, " ", h("button", { type: "button", class: "link", onclick: close }, "Close")));
  };
  swap(kept.done);
  try {
    const done = h("span", {}, await work());
    tell(done);
    say(done.textContent);
  } catch (problem) {
    if (!(problem instanceof Refusal)) throw problem;
    if (problem.status === 401) return view.ended();
    tell(h("span", { role: "alert" }, mark("bad", "Not done"), " ", problem.message));
  }
  return kept.refresh();
}
