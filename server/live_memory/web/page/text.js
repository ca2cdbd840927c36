// Makes elements of texts that others wrote. A text only ever becomes a text node, never markup.

// Longer stretches are shown as they are: no pattern looks at them.
const LONGEST = 4000;
const PLACE = /([\w@+~.-][\w@+~./-]{0,250}):(\d{1,9})(?:[-\u2013](\d{1,9}))?/g;
const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes, listeners (`onclick`) and children; `null` children are left out. */
export function h(tag, given = {}, ...children) {
  return made(document.createElement(tag), given, children);
}

/** The same within a drawing. */
export function s(tag, given = {}, ...children) {
  return made(document.createElementNS(SVG, tag), given, children);
}

function made(element, given, children) {
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(2).filter((child) => child !== null && child !== undefined));
  return element;
}

/** A text with `code`, **strong** words and places as buttons; `open` is told which place. */
export function inline(text, open) {
  if (text.length > LONGEST) return [text];
  const found = [];
  for (const [n, part] of text.split("`").entries()) {
    if (n % 2 === 0) found.push(...strong(part, open));
    else found.push(...(isPlace(part) ? places(part, open) : [h("code", {}, part)]));
  }
  return found;
}

function isPlace(text) {
  PLACE.lastIndex = 0;
  return PLACE.exec(text)?.[0] === text;
}

function strong(text, open) {
  return text.split("**").flatMap((part, n, all) => {
    const inner = places(part, open);
    return n % 2 && n < all.length - 1 ? [h("strong", {}, inner)] : inner;
  });
}

function places(text, open) {
  const found = [];
  let at = 0;
  for (const match of open ? text.matchAll(PLACE) : []) {
    const [whole, path, start, end] = match;
    if (!/[./]/.test(path) || /^\d+(\.\d+)*$/.test(path)) continue;
    const place = { path, start: Number(start), end: Number(end ?? start) };
    found.push(text.slice(at, match.index), placeButton(place, open));
    at = match.index + whole.length;
  }
  found.push(text.slice(at));
  return found.filter((part) => part !== "");
}

/** `path:3-9`, as it is written everywhere. */
export function nameOf({ path, start, end }) {
  return `${path}:${start}${end > start ? `-${end}` : ""}`;
}

/** A button that opens a place. */
export function placeButton(place, open, name = nameOf(place)) {
  const act = (event) => {
    if (event.type === "keydown" && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    open(place);
  };
  // A `button` cannot go on in the next line, and a path is long.
  return h("span", { class: "place", role: "button", tabindex: "0", "aria-label": `Show ${name}`, onclick: act, onkeydown: act }, name);
}

/** An answer's text: paragraphs, lists, headings, fences, and lines that stand behind numbers. */
export function blocks(text, open) {
  const found = [];
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; ) {
    const take = (is) => {
      const from = at;
      while (at < lines.length && is(lines[at])) at += 1;
      return lines.slice(from, at);
    };
    const line = lines[at];
    const fence = /^\s{0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (!line.trim()) at += 1;
    else if (fence) {
      at += 1;
      const inner = take((each) => !each.trim().startsWith(fence));
      at += 1;
      found.push(code(inner.map((each) => [null, each])));
    } else if (isNumbered(line)) found.push(code(take((each) => isNumbered(each) || isGap(each)).map(numbered)));
    else if (/^#{1,6}\s/.test(line)) {
      found.push(h("h3", {}, inline(line.replace(/^#+\s+/, ""), open)));
      at += 1;
    } else if (isItem(line)) {
      found.push(h("ul", {}, take(isItem).map((each) => h("li", {}, inline(each.replace(/^\s*([-*+]|\d{1,3}[.)])\s+/, ""), open)))));
    } else {
      const said = take((each) => each.trim() && !isNumbered(each) && !isItem(each) && !/^(#{1,6}\s|\s{0,3}(`{3,}|~{3,}))/.test(each));
      found.push(...said.map((each) => h("p", {}, inline(each, open))));
    }
  }
  return found;
}

const isItem = (line) => /^\s{0,9}([-*+]|\d{1,3}[.)])\s+\S/.test(line);
const isNumbered = (line) => /^\s{0,9}\d{1,9}\|/.test(line);
const isGap = (line) => /^\s*(\.\.\.|\u2026)/.test(line);

function numbered(line) {
  const match = /^\s{0,9}(\d{1,9})\|/.exec(line);
  return match ? [Number(match[1]), line.slice(match[0].length)] : [null, line.trim()];
}

/** Lines of code behind their numbers; those from `start` to `end` stand out. */
export function code(lines, { start = 0, end = -1, label = "Code" } = {}) {
  const rows = lines.map(([number, text]) => {
    const isMeant = number !== null && start <= number && number <= end;
    return h(
      "span",
      { class: isMeant ? "line meant" : "line" },
      h("span", { class: "number", "aria-hidden": "true" }, number === null ? "" : String(number)),
      h("span", { class: "said" }, text === "" ? "\n" : `${text}\n`),
    );
  });
  return h("pre", { tabindex: "0", role: "region", "aria-label": label }, h("code", {}, rows));
}
