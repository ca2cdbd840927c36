// What every view is drawn with.
import { Refusal } from "./server.js";
import { code, h, nameOf } from "./text.js";

export const ROWS = 50;
export const main = document.getElementById("main");
const said = document.getElementById("said");

export const say = (text) => {
  said.textContent = text;
};

/** Put children in place of those that are there; what had the focus by its `data-key` has it again. */
export function swap(where, ...children) {
  const focused = where.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  where.replaceChildren(...children.flat(3).filter((child) => child !== null && child !== undefined));
  if (focused) (where.querySelector(`[data-key="${CSS.escape(focused)}"]`) ?? main).focus({ preventScroll: true });
  return where;
}

export const waiting = (what) => h("p", { class: "working soft" }, h("span", { class: "spin", "aria-hidden": "true" }), `Loading ${what}\u2026`);

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

export const empty = (title, ...text) => h("div", { class: "empty" }, h("h2", {}, title), h("p", {}, text));
export const card = (title, ...children) => h("section", { class: "card" }, title ? h("h2", {}, title) : null, children);
export const tile = (name, value, note) => h("div", { class: "tile" }, h("dt", {}, name), h("dd", {}, value), note ? h("dd", { class: "note" }, note) : null);

export function opened(place, note) {
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

/** Ask the person; resolves to whether to go on. `field` is what may be filled in on the way. */
export function confirmed(title, text, doIt, { field = null, leave = "Cancel" } = {}) {
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
        field,
        h("div", { class: "row" }, h("button", { type: "button", class: "danger", onclick: close("yes") }, doIt), h("button", { type: "button", autofocus: !field, onclick: close("") }, leave)),
      ),
    );
    dialog.onclose = () => {
      main.querySelector(`[data-key="${CSS.escape(opener ?? "")}"]`)?.focus();
      resolve(dialog.returnValue === "yes");
    };
    dialog.showModal();
  });
}

// ---- parts that load by themselves ----------------------------------------------------------

// Each view draws itself into `where` and gives a function that brings it up to date, if it can be.
// `ended` is for a key that opens nothing any more.
export const view = { refresh: null, workspace: null, stop: new AbortController(), ended: () => {} };

/** A part that loads by itself: waiting, what was loaded, or what went wrong.
 *
 * It is drawn anew only where something else was loaded, so that what a person selected or opened
 * stays as it is; `redraw` is for what the person changed.
 */
export function part(what, load, draw) {
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
      if (problem.status === 401) view.ended();
      else if (mine === turn && !signal.aborted) swap(where, trouble(problem, refresh));
    }
  };
  refresh();
  return { where, refresh, redraw };
}

export const go = (address) => {
  location.hash = address;
};
