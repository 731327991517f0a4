// Keys, live updates and small comforts. Every page works without it.
const main = document.getElementById("main");
const live = document.querySelector(".live");

const rows = () => [...main.querySelectorAll("[data-row]")];
const target = (row) => (row.matches("a") ? row : row.querySelector("a"));
const typed = (element) => element?.closest("input:not([type=range], [type=checkbox]), textarea, select");

// A choice is a step back in the history of the browser; the places of a slider are not.
main.addEventListener("change", ({ target: field }) => {
  if (!field.matches("[data-submit], [data-slide]")) return;
  const url = new URL(`?${new URLSearchParams(new FormData(field.form))}`, location.href);
  history[field.matches("[data-slide]") ? "replaceState" : "pushState"](null, "", url);
  show(url);
});
addEventListener("popstate", () => show(new URL(location.href)));
main.addEventListener("input", ({ target: field }) => {
  if (field.matches("[data-slide]")) field.form.querySelector("output").value = `${field.value} of ${field.max}`;
});
main.addEventListener("keydown", (event) => {
  const runs = event.key === "Enter" && (event.ctrlKey || event.metaKey);
  if (runs && event.target.matches("[data-run]")) event.target.form.requestSubmit();
});

function choose(step) {
  const found = rows();
  if (!found.length) return;
  const now = found.findIndex((row) => row.classList.contains("here"));
  const at = now < 0 ? (step > 0 ? 0 : found.length - 1) : Math.min(Math.max(now + step, 0), found.length - 1);
  found[now]?.classList.remove("here");
  const row = found[at];
  row.classList.add("here");
  (target(row) ?? row).focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

const KEYS = [
  ["j / k", "next, previous row"],
  ["Enter", "open it"],
  ["h / l", "earlier, later turn"],
  ["[ / ]", "earlier, later diff"],
  ["d", "diff of the turn"],
  ["/", "search"],
  ["y", "copy the address"],
  [".", "live updates on and off"],
  ["t", "light or dark"],
  ["g", "sessions"],
  ["?", "these keys"],
];

function make(tag, ...children) {
  const element = document.createElement(tag);
  element.append(...children);
  return element;
}

function showKeys() {
  let dialog = document.querySelector("dialog");
  if (!dialog) {
    const list = make("dl", ...KEYS.map(([key, what]) => make("div", make("dt", make("kbd", key)), make("dd", what))));
    list.className = "pairs";
    const close = make("form", make("button", "Close"));
    close.method = "dialog";
    dialog = make("dialog", list, close);
    dialog.setAttribute("aria-label", "Keys");
    document.body.append(dialog);
  }
  dialog.showModal();
}

function turnBy(step) {
  const turns = [...main.querySelectorAll(".turns a")];
  const now = turns.findIndex((turn) => turn.hasAttribute("aria-current"));
  // The newest turn stands first.
  const next = turns[now < 0 ? (step > 0 ? turns.length - 1 : 0) : now - step];
  if (next) location.assign(next.href);
}

function diffHere() {
  const chosen = main.querySelector(".turns .here");
  const to = new URL(document.querySelector('.tabs a[href^="/diff"]')?.href ?? location.href);
  if (chosen) to.searchParams.set("b", new URL(chosen.href).searchParams.get("turn"));
  if (to.href !== location.href) location.assign(to);
}

function theme() {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = root.dataset.theme ?? (dark ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
  document.cookie = `turnlog_theme=${root.dataset.theme}; Path=/; SameSite=Strict; Max-Age=31536000`;
}

document.addEventListener("keydown", (event) => {
  const typing = typed(event.target);
  if (event.key === "Escape" && typing) return typing.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const does = {
    j: () => choose(1),
    k: () => choose(-1),
    h: () => turnBy(-1),
    l: () => turnBy(1),
    d: diffHere,
    y: () => navigator.clipboard?.writeText(location.href).then(() => say("address copied")),
    ".": pause,
    t: theme,
    g: () => location.assign("/"),
    "?": showKeys,
  }[event.key];
  const marked = main.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (does) does();
  else if (marked) marked.matches("a") ? marked.click() : marked.focus();
  else return;
  event.preventDefault();
});
document.querySelector(".keys").addEventListener("click", showKeys);
document.querySelector(".theme").addEventListener("click", theme);

let source = null;
let paused = !main.hasAttribute("data-live");
let waiting = false;
let missed = false;
let asked = 0;

function say(text, on = true) {
  live.textContent = text;
  live.classList.toggle("off", !on);
}

// Elements that are the same thing before and after: by id, rows by where they lead, cards by their title.
function key(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return "";
  if (node.id) return node.id;
  if (node.matches("[data-row], li, tr")) return `${node.tagName} ${target(node)?.getAttribute("href") ?? ""}`;
  return node.matches(".card") ? `card ${node.querySelector("h2")?.firstChild?.textContent}` : "";
}

// Make one element like another and leave alone what is equal: focus, selection, places, open details and what is typed stay.
function turnInto(old, fresh) {
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const known = new Map();
  for (const child of old.childNodes) if (key(child)) known.set(key(child), [...(known.get(key(child)) ?? []), child]);
  let next = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const same = key(child) ? known.get(key(child))?.shift() : next;
    if (same && same.nodeName === child.nodeName && key(same) === key(child)) {
      if (same === next) next = next.nextSibling;
      else old.insertBefore(same, next);
      if (same.nodeType !== Node.ELEMENT_NODE) same.textContent = child.textContent;
      else if (!same.isEqualNode(child)) turnInto(same, child);
    } else old.insertBefore(child, next);
  }
  while (next) {
    const after = next.nextSibling;
    next.remove();
    next = after;
  }
}

async function show(url, byItself = false) {
  const mine = ++asked;
  const answer = await fetch(url, { headers: { "x-turnlog-part": "main" } });
  const text = await answer.text();
  if (mine !== asked) return;
  if (!answer.ok && byItself) throw new Error(answer.status);
  main.dataset.live = answer.headers.get("x-turnlog-seen");
  const fresh = new DOMParser().parseFromString(`<main>${text}</main>`, "text/html").querySelector("main");
  for (const { name, value } of main.attributes) fresh.setAttribute(name, value);
  const here = rows().find((row) => row.classList.contains("here"));
  turnInto(main, fresh);
  if (here?.isConnected) here.classList.add("here");
}

async function refresh() {
  if (waiting) return void (missed = true);
  waiting = true;
  let pause = 300;
  try {
    await show(new URL(location.href), true);
    if (!paused) say("live");
  } catch {
    missed = true;
    pause = 2000;
    say("cannot read now", false);
  } finally {
    waiting = false;
    if (missed) setTimeout(again, pause);
  }
}

function again() {
  if (!missed || paused) return;
  missed = false;
  refresh();
}

// What runs is counted on, and asked for now and then.
let seconds = 0;
setInterval(() => {
  const running = main.querySelectorAll("[data-since]");
  if (paused || document.hidden || !running.length) return;
  for (const each of running) each.textContent = `${((Date.now() - each.dataset.since) / 1000).toFixed(1)} s`;
  if (++seconds % 5 === 0) refresh();
}, 1000);

function follow() {
  source = new EventSource(`/live?seen=${main.dataset.live}`);
  source.addEventListener("open", () => say("live"));
  source.addEventListener("changed", refresh);
  source.addEventListener("error", () => {
    const isOver = source.readyState === EventSource.CLOSED;
    say(isOver ? "over: open the address that turnlog ui prints" : "waiting for the server", false);
  });
}

function stop() {
  source?.close();
  source = null;
}

function pause() {
  paused = !paused;
  if (!paused) return follow();
  stop();
  say("paused", false);
}

// A browser has few connections to a server: pages that nobody looks at leave theirs to the others.
document.addEventListener("visibilitychange", () => {
  stop();
  if (!paused && !document.hidden) follow();
});

if (!location.hash) main.querySelector("#parted")?.scrollIntoView({ block: "center", behavior: "instant" });
if (!paused && !document.hidden) follow();
