// Keys, live updates and small comforts. Every page works without it.
const main = document.getElementById("main");
const live = document.querySelector(".live");
let chosen = "";

const rows = () => [...main.querySelectorAll("[data-row]")];
const target = (row) => (row.matches("a") ? row : row.querySelector("a"));
const name = (row) => row && (target(row)?.href ?? row.textContent);
const typed = (element) => element?.closest("input:not([type=range], [type=checkbox]), textarea, select");

function arrange() {
  for (const input of main.querySelectorAll("[data-submit]")) input.addEventListener("change", () => input.form.requestSubmit());
  for (const slider of main.querySelectorAll("[data-slide]")) {
    slider.addEventListener("input", () => (slider.form.querySelector("output").value = `${slider.value} of ${slider.max}`));
    slider.addEventListener("change", () => show(new URL(`?${new URLSearchParams(new FormData(slider.form))}`, location.href)));
  }
  for (const box of main.querySelectorAll("[data-run]"))
    box.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) box.form.requestSubmit();
    });
}

function choose(step) {
  const found = rows();
  if (!found.length) return;
  const now = found.findIndex((row) => name(row) === chosen);
  const at = now < 0 ? (step > 0 ? 0 : found.length - 1) : Math.min(Math.max(now + step, 0), found.length - 1);
  found[now]?.classList.remove("here");
  const row = found[at];
  chosen = name(row);
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
  const here = new URL(location.href).searchParams;
  const session = here.get("id") ?? here.get("session");
  if (!session || location.pathname === "/commit") return;
  const to = new URL("/diff", location.origin);
  to.searchParams.set("session", session);
  if (here.get("turn")) to.searchParams.set("b", here.get("turn"));
  location.assign(to);
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
let shown = "";

function say(text, on = true) {
  live.textContent = text;
  live.classList.toggle("off", !on);
}

// How to find an element again among those that take its place.
function place(element) {
  const link = element?.getAttribute("href");
  if (element?.id) return `#${CSS.escape(element.id)}`;
  if (link) return `a[href="${CSS.escape(link)}"]`;
  if (element?.name) return `[name="${CSS.escape(element.name)}"]`;
  return element?.matches("form button") ? "form button" : "";
}

async function show(url) {
  const answer = await fetch(url, { headers: { "x-turnlog-part": "main" } });
  if (!answer.ok) return;
  main.dataset.live = answer.headers.get("x-turnlog-seen");
  const text = await answer.text();
  if (url.href !== location.href) history.replaceState(null, "", url);
  else if (text === shown) return;
  shown = text;
  const fresh = new DOMParser().parseFromString(`<main>${text}</main>`, "text/html").querySelector("main");
  const opened = [...main.querySelectorAll("details")].map((each) => each.open);
  const focused = main.contains(document.activeElement) && place(document.activeElement);
  const scrolled = [...main.querySelectorAll(".timeline, .scroll, pre")].map((each) => [each.scrollLeft, each.scrollTop]);
  main.replaceChildren(...fresh.childNodes);
  arrange();
  main.querySelectorAll("details").forEach((each, index) => (each.open = opened[index] ?? false));
  main.querySelectorAll(".timeline, .scroll, pre").forEach((each, index) => {
    [each.scrollLeft, each.scrollTop] = scrolled[index] ?? [0, 0];
  });
  if (focused && focused !== "#main") main.querySelector(focused)?.focus({ preventScroll: true });
  rows().find((row) => name(row) === chosen)?.classList.add("here");
}

async function refresh() {
  // What somebody is filling in or holds stays as it is until they leave it.
  if (waiting || typed(document.activeElement) || main.querySelector("input:active")) return void (missed = true);
  waiting = true;
  try {
    await show(new URL(location.href));
  } catch {
    say("waiting for the server", false);
  } finally {
    waiting = false;
    if (missed) setTimeout(again, 300);
  }
}

function again() {
  if (!missed) return;
  missed = false;
  refresh();
}
for (const left of ["focusout", "pointerup"]) main.addEventListener(left, () => setTimeout(again, 300));

function follow() {
  source = new EventSource(`/live?seen=${main.dataset.live}`);
  source.addEventListener("open", () => say("live"));
  source.addEventListener("changed", refresh);
  source.addEventListener("error", () => say("waiting for the server", false));
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

arrange();
if (!location.hash) main.querySelector("#parted")?.scrollIntoView({ block: "center", behavior: "instant" });
if (!paused && !document.hidden) follow();
