// Work that was left to whoever takes it over, and the form that leaves some.
import { card, empty, part, ROWS, say, swap } from "./drawing.js";
import { field, listOf, submitting } from "./forms.js";
import { post } from "./server.js";
import { h } from "./text.js";
import { callOf, handoffItem, shelf } from "./told.js";
import { mark, plural } from "./words.js";

const UNTIL = { "": "In 30 days", "1d": "In a day", "7d": "In a week", "90d": "In 90 days" };

/** The handoffs of a codebase. */
export function handoffs(about) {
  let [all, shown] = [false, ROWS];
  const kept = shelf(about, () => list.refresh());
  const list = part("handoffs", () => post("/v1/handoff", { ...about, action: "list", all }), ({ handoffs: some }) => {
    say(plural(some.length, all ? "handoff" : "open handoff"));
    if (!some.length) return all ? empty("No handoff was left yet", "Leave one above, or let your agent: what was done, and what the next one should do.") : empty("No handoff is open", "All shows those that were claimed, cancelled or ran out.");
    return [
      h("p", { class: "soft small" }, `${plural(some.length, all ? "handoff" : "open handoff")}, the newest first`),
      h("ul", { class: "list" }, some.slice(0, shown).map((each) => handoffItem(each, kept))),
      some.length > shown ? h("button", { type: "button", "data-key": "more", onclick: () => { shown += ROWS; list.redraw(); } }, "Show more") : null,
    ];
  });
  const choice = (value, label) => h("label", {}, h("input", { type: "radio", name: "states", checked: value === all, onchange: () => {
    [all, shown] = [value, ROWS];
    swap(kept.done);
    list.refresh();
  } }), label);
  const choices = h("fieldset", { class: "choices" }, h("legend", { class: "unseen" }, "Show"), choice(false, "Open"), choice(true, "All"));
  return { where: h("div", { class: "stack" }, leaveCard(about, kept), card("Work that was left", h("div", { class: "stack tight" }, choices, kept.done, list.where))), refresh: list.refresh };
}

function leaveCard(about, kept) {
  const lines = (id, label, hint) => field(id, label, h("textarea", { rows: 2 }), hint ?? "One a line.");
  const summary = field("left-summary", "What was done, and what is left", h("textarea", { rows: 3, required: true, maxlength: 8192 }));
  const steps = lines("left-steps", "Next steps");
  const questions = lines("left-questions", "Open questions");
  const files = lines("left-files", "Files", "One a line: path, or path:first-last.");
  const to = field("left-to", "For", h("input", { type: "text", autocomplete: "off", maxlength: 200, placeholder: "Anybody" }), "Whom it is offered to; others may claim it too.");
  const expires = field("left-expires", "Ends", h("select", {}, Object.entries(UNTIL).map(([value, label]) => h("option", { value }, label))));
  const told = h("div", { "aria-live": "polite" });
  const button = h("button", { type: "submit", class: "main" }, "Leave it");
  const leave = async () => {
    const body = { ...about, action: "leave", summary: summary.input.value, next_steps: listOf(steps.input.value), open_questions: listOf(questions.input.value), files: listOf(files.input.value), to_agent: to.input.value.trim(), expires: expires.input.value };
    const what = JSON.stringify(body);
    const { handoff } = await post("/v1/handoff", body, { "X-Live-Memory-Call": callOf(what, kept) });
    kept.calls.delete(what);
    form.reset();
    swap(told, h("p", {}, mark("good", "Left"), ` as ${handoff.id}. Whoever begins here next is told that it is open.`));
    await kept.refresh();
  };
  const form = h(
    "form",
    { class: "stack tight", "aria-label": "Leave a handoff", onsubmit: submitting(leave, { button, told }) },
    summary.where,
    h("div", { class: "fields wide" }, steps.where, questions.where, files.where),
    h("div", { class: "fields" }, to.where, expires.where),
    h("div", { class: "row" }, button),
    told,
  );
  return h("details", { class: "card more" }, h("summary", {}, "Leave a handoff"), form);
}
