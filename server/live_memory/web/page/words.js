// Figures, times and states in words.
import { h } from "./text.js";

export const number = new Intl.NumberFormat("en");
export const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const ago = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const UNITS = [["year", 31_536_000], ["month", 2_592_000], ["week", 604_800], ["day", 86_400], ["hour", 3_600], ["minute", 60]];
export const date = (at) => new Date(at * 1000);
export const whole = (at) => date(at).toLocaleString("en", { dateStyle: "medium", timeStyle: "medium" });
/** A time to the minute. */
export const minute = (at) => date(at).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" });
export const plural = (count, one, many = `${one}s`) => `${number.format(count)} ${count === 1 ? one : many}`;
/** The beginning of a long text. */
export const cut = (text, most) => (text.length > most ? `${text.slice(0, most).replace(/[\ud800-\udbff]$/, "")}\u2026` : text);
export const base = (root) => root.split("/").filter(Boolean).pop() ?? root;
export const AUTHORS = { agent: "the agent", subagent: "a sub-agent", companion: "the companion", person: "a person", summary: "a summary" };

export function relative(at) {
  const seconds = at - Date.now() / 1000;
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return ago.format(Math.trunc(seconds / size), unit);
  }
  return "just now";
}

export const elapsed = (seconds) => (seconds < 1 ? `${Math.round(1000 * seconds)} ms` : `${seconds.toFixed(1)} s`);
export const time = (at) => (at ? h("time", { class: "ago", datetime: date(at).toISOString(), title: whole(at) }, relative(at)) : "never");

export function money(usd) {
  if (usd === null || usd === undefined) return "price unknown";
  if (usd === 0) return "$0";
  return `$${usd.toFixed(usd < 0.1 ? 4 : 2)}`;
}

export function costOf(answer) {
  if (answer.is_subscription) return "subscription";
  return answer.cost_usd === 0 ? "free" : money(answer.cost_usd);
}

export const GROUNDING = {
  verified: ["good", "Checked", "Every place it cites was opened, and what is said stands there."],
  partial: ["warn", "Partly checked", "Some of what is said was not found in the files."],
  ungrounded: ["bad", "Not backed", "Nothing in the files backs this."],
};
export const MODES = { companion: "read and answered by", "single-shot": "answered by", evidence: "found in the index, without a model", cached: "the same answer as before" };
export const STATUS = { verified: "stands there", corrected: "line corrected", unsupported: "not found there" };

export const mark = (kind, text, title) => h("span", { class: `mark ${kind}`, title }, text);
export const grounding = (answer) => {
  const [kind, text, title] = GROUNDING[answer.grounding] ?? ["", answer.grounding, ""];
  return mark(kind, text, title);
};
