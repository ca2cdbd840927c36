// Fields of forms, and sending one.
import { swap, view } from "./drawing.js";
import { Refusal } from "./server.js";
import { h } from "./text.js";
import { mark } from "./words.js";

/** An input with its label and, where there is one, a hint. */
export function field(id, label, input, hint) {
  input.id = id;
  if (hint) input.setAttribute("aria-describedby", `${id}-hint`);
  const where = h("div", { class: "field" }, h("label", { for: id }, label), input, hint ? h("p", { class: "soft small", id: `${id}-hint` }, hint) : null);
  return { where, input };
}

export const listOf = (text, between = "\n") => text.split(between).map((each) => each.trim()).filter(Boolean);

/** What a form does when it is sent: once at a time, and what is refused is said in `told`. */
export function submitting(work, { button, told }) {
  return async (event) => {
    event.preventDefault();
    if (button.disabled) return;
    button.disabled = true;
    swap(told);
    try {
      await work();
    } catch (problem) {
      if (!(problem instanceof Refusal)) throw problem;
      if (problem.status === 401) view.ended();
      else swap(told, h("p", { role: "alert" }, mark("bad", "Not done"), " ", problem.message));
    } finally {
      button.disabled = false;
    }
  };
}
