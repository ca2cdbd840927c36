// Figures as bars, as parts of a whole, and as tables.
import { h, s } from "./text.js";
import { short } from "./words.js";

/** Bars over time; below the axis where a value is negative. The figures follow as a table. */
export function bars(title, rows, { unit, format }) {
  const width = matchMedia("(max-width: 40rem)").matches ? 330 : 600;
  const [height, left, foot] = [150, 66, 22];
  const values = rows.map((row) => row.value);
  const heading = h("h3", {}, title, " ", h("span", { class: "soft small" }, `${format(values.reduce((sum, value) => sum + value, 0))} ${unit}`));
  if (!values.some(Boolean)) return h("div", { class: "stack tight" }, heading, h("p", { class: "soft small" }, "Nothing in this time."));
  const top = Math.max(...values, 0);
  const low = Math.min(...values, 0);
  const span = top - low || 1;
  const y = (value) => 8 + ((top - value) / span) * (height - foot - 12);
  const step = (width - left) / rows.length;
  const drawn = rows.map(({ value, label }, n) => {
    const tall = Math.abs(y(value) - y(0));
    const at = { x: left + n * step + step * 0.14, y: Math.min(y(value), y(0)), width: step * 0.72, height: value ? Math.max(tall, 1.5) : 0, rx: 1.5 };
    return s("rect", { class: value < 0 ? "bar down" : "bar", ...at }, s("title", {}, `${label}: ${format(value)}`));
  });
  const ticks = [...new Set([top, 0, low])].map((value) => s("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, format(value)));
  const ends = [
    s("text", { x: left, y: height - 4 }, rows[0].label),
    s("text", { x: width, y: height - 4, "text-anchor": "end" }, rows[rows.length - 1].label),
  ];
  const total = values.reduce((sum, value) => sum + value, 0);
  const axis = s("line", { class: "axis", x1: left, x2: width, y1: y(0), y2: y(0) });
  const label = `${title}: ${format(total)} ${unit} in all`;
  const filled = rows.filter((row) => row.value);
  return h(
    "div",
    { class: "stack tight" },
    heading,
    s("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, axis, drawn, ticks, ends),
    h("details", {}, h("summary", {}, "As a table"), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, table(["When", unit], filled.map((row) => [row.label, format(row.value)])))),
  );
}

export const table = (heads, rows) =>
  h(
    "table",
    {},
    h("thead", {}, h("tr", {}, heads.map((head, n) => h("th", { scope: "col", class: n ? "n" : "" }, head)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, n) => (n ? h("td", { class: "n" }, cell) : h("th", { scope: "row" }, cell)))))),
  );

export function meter(label, parts, limit) {
  let x = 0;
  const drawn = parts.map(([, tokens], n) => {
    const width = Math.min(100 - x, (100 * tokens) / Math.max(limit, 1));
    x += width;
    return s("rect", { class: `p${n % 4}`, x: x - width, y: 0, width, height: 10 });
  });
  return h(
    "div",
    { class: "stack tight" },
    s("svg", { class: "meter", viewBox: "0 0 100 10", preserveAspectRatio: "none", role: "img", "aria-label": label }, drawn),
    h("ul", { class: "meta plain" }, parts.map(([name, tokens], n) => h("li", { class: "row part" }, s("svg", { class: "dot", viewBox: "0 0 10 10", "aria-hidden": "true" }, s("rect", { class: `p${n % 4}`, width: 10, height: 10, rx: 3 })), `${name} ${short.format(tokens)}`))),
  );
}
