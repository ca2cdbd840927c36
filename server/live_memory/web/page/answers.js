// Asking, answers with their places beside them, and questions that were asked.
import { card, empty, opened, part, ROWS, say, swap, view } from "./drawing.js";
import { call, get, pieces, post, Refusal } from "./server.js";
import { blocks, h, nameOf } from "./text.js";
import { costOf, elapsed, grounding, GROUNDING, mark, MODES, money, number, plural, short, STATUS, time } from "./words.js";

// Places that are opened beside an answer before anybody asks for more.
const FIRST_PLACES = 4;

export function askCard(about) {
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
    else if (problem.status === 401) view.ended();
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

export function questions(about) {
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

export function oneAnswer(about, at) {
  const one = part("the answer", () => get("/v1/answers", { ...about, at }), ({ answers: [answer] }) => {
    if (!answer) return empty("This answer is not kept any more", "Only the last ones are.");
    return [h("p", { class: "small" }, h("a", { href: `#/w/${about.workspace}/questions` }, "All questions"), ", asked ", time(answer.asked_at)), h("h2", { class: "prose" }, answer.question), answerCards(about, answer)];
  });
  return { where: h("div", { class: "card" }, one.where) };
}
