// The page: one view for each address behind the `#`, and news of what happens.
import { oneAnswer, questions } from "./answers.js";
import { main, part, swap, view } from "./drawing.js";
import { findings } from "./findings.js";
import { handoffs } from "./handoffs.js";
import { notes } from "./notes.js";
import { glance, health, overview } from "./overview.js";
import { call, get, keepKey, key, loseKey, pieces, Refusal } from "./server.js";
import { summary } from "./summary.js";
import { h } from "./text.js";
import { timeline } from "./timeline.js";
import { base, mark, relative } from "./words.js";

// ---- one codebase ---------------------------------------------------------------------------

const TABS = [["", "Summary"], ["notes", "Notes"], ["handoffs", "Handoffs"], ["findings", "Findings"], ["questions", "Questions"], ["timeline", "Timeline"]];

function workspace(id, tab, rest, query) {
  view.workspace = id;
  const about = { workspace: id };
  const head = part("the codebase", () => get("/v1/stats", about), (stats) => headOf(stats));
  const tabs = h(
    "nav",
    { "aria-label": "This codebase" },
    TABS.map(([name, label]) => h("a", { href: `#/w/${id}${name ? `/${name}` : ""}`, "aria-current": name === tab ? "page" : null }, label)),
  );
  const label = TABS.find(([name]) => name === tab)?.[1] ?? "Summary";
  const draw = { notes, handoffs, findings, questions, timeline }[tab] ?? summary;
  const body = tab === "questions" && rest ? oneAnswer(about, rest) : draw(about, query);
  view.refresh = () => {
    head.refresh();
    body.refresh?.();
  };
  return [label, [head.where, tabs, body.where]];
}

function headOf({ workspace: { root } }) {
  document.title = `${base(root)} \u2013 Live Memory`;
  return h(
    "div",
    {},
    h("p", { class: "crumb" }, h("a", { href: "#/" }, "All codebases")),
    h("h1", { tabindex: "-1", "data-key": "h1" }, base(root)),
    h("p", { class: "path" }, root),
  );
}

// ---- which view -----------------------------------------------------------------------------

function route() {
  view.stop.abort();
  Object.assign(view, { stop: new AbortController(), refresh: null, workspace: null });
  document.getElementById("sure").close();
  if (!key()) return locked();
  const [address, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [first = "", id = "", tab = "", rest = ""] = address.split("/").map(decodeURIComponent);
  const [name, drawn] = first === "w" && /^[0-9a-f]{32}$/.test(id) ? workspace(id, tab, rest, new URLSearchParams(query)) : first === "health" ? health() : overview();
  document.title = `${name} \u2013 Live Memory`;
  for (const link of document.querySelectorAll("[data-nav]")) {
    if (link.dataset.nav === (first === "health" ? "health" : first === "" ? "overview" : "")) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.getElementById("nav").hidden = false;
  swap(main, h("div", { class: "stack" }, drawn));
  glanceQuietly();
  return undefined;
}

function locked(why = "") {
  document.getElementById("nav").hidden = true;
  swap(document.getElementById("glance"));
  document.title = "Live Memory";
  swap(
    main,
    h(
      "section",
      { class: "card stack tight" },
      h("h1", { tabindex: "-1" }, "Open this page from a terminal"),
      why ? h("p", { role: "alert" }, why) : null,
      h("p", {}, "What is remembered of your code is for you alone, so this page opens by a link that works once:"),
      h("code", { class: "command" }, "live-memory ui"),
    ),
  );
}

function ended() {
  loseKey();
  clearTimeout(refreshTimer);
  view.stop.abort();
  stopListening();
  locked("The server was started anew, and this page's key ended with the old one.");
}

// ---- news -----------------------------------------------------------------------------------

let listening = null;
let refreshAt = 0;
let refreshTimer;
view.ended = ended;

function stopListening() {
  listening?.abort();
  listening = null;
}

/** Bring what is shown up to date, once a second at most. */
function refreshSoon() {
  clearTimeout(refreshTimer);
  refreshTimer = setTimeout(() => {
    refreshAt = Date.now();
    view.refresh?.();
    glanceQuietly();
  }, Math.max(0, refreshAt + 1500 - Date.now()));
}

async function glanceQuietly() {
  if (!key()) return;
  try {
    await glance();
  } catch (problem) {
    if (!(problem instanceof Refusal)) throw problem;
    if (problem.status === 401) ended();
  }
}

async function listen() {
  const mine = new AbortController();
  listening = mine;
  for (let pause = 1; !mine.signal.aborted; pause = Math.min(pause * 2, 15)) {
    try {
      const reply = await call("/v1/events", { signal: mine.signal });
      refreshSoon();
      for await (const message of pieces(reply, "\n\n")) {
        pause = 1;
        const { changed } = JSON.parse(message.replace(/^data: /, ""));
        if (changed.some((name) => name === "server" || !view.workspace || name === view.workspace)) refreshSoon();
      }
    } catch (problem) {
      if (problem.status === 401) return ended();
      if (mine.signal.aborted) return undefined;
    }
    swap(document.getElementById("glance"), h("li", {}, mark("bad", "The server does not answer")));
    await new Promise((resolve) => setTimeout(resolve, 1000 * pause));
  }
  return undefined;
}

setInterval(() => {
  for (const each of document.querySelectorAll("time.ago")) each.textContent = relative(Date.parse(each.dateTime) / 1000);
}, 30_000);

// A page that nobody looks at costs the server nothing.
let hiddenTimer;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiddenTimer);
  if (document.hidden) hiddenTimer = setTimeout(stopListening, 30_000);
  else if (!listening && key()) listen();
});

/** Take the secret out of the address and get the key for it. */
async function open() {
  const given = new URLSearchParams(location.hash.startsWith("#open=") ? location.hash.slice(1) : "");
  if (given.has("open")) {
    history.replaceState(null, "", "/ui#/");
    try {
      const reply = await call("/v1/page/key", { body: {}, secret: given.get("open") });
      keepKey((await reply.json()).key);
      await goNear(given.get("in"));
    } catch (problem) {
      if (!(problem instanceof Refusal)) throw problem;
      if (!key()) return locked(problem.status === 0 ? problem.message : "This link was used before, or is older than a minute.");
    }
  }
  route();
  window.addEventListener("hashchange", () => {
    if (location.hash.startsWith("#open=")) return location.reload();
    route();
    main.focus();
    window.scrollTo(0, 0);
    return undefined;
  });
  if (key()) listen();
  return undefined;
}

/** Begin with the codebase that the command was called in. */
async function goNear(folder) {
  if (!folder) return;
  const { workspaces } = await get("/v1/workspaces", {});
  const around = workspaces.filter(({ root }) => folder === root || folder.startsWith(`${root}/`));
  around.sort((a, b) => b.root.length - a.root.length);
  if (around.length) history.replaceState(null, "", `/ui#/w/${around[0].key}`);
}

open();
