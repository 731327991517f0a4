// Keys, live updates and small comforts. Every page works without it.
const main = document.getElementById("main");
const live = document.querySelector(".live");
let chosen = -1;

const rows = () => [...main.querySelectorAll("[data-row]")];

function arrange() {
  for (const item of main.querySelectorAll("[data-grow]")) item.style.flexGrow = item.dataset.grow;
  for (const input of main.querySelectorAll("[data-submit]")) input.addEventListener("change", () => input.form.requestSubmit());
  for (const box of main.querySelectorAll("[data-run]"))
    box.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) box.form.requestSubmit();
    });
}

function choose(step) {
  const found = rows();
  if (!found.length) return;
  found[chosen]?.classList.remove("here");
  chosen = Math.min(Math.max(chosen + step, 0), found.length - 1);
  const row = found[chosen];
  row.classList.add("here");
  const target = row.matches("a") ? row : row.querySelector("a");
  (target ?? row).focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

const KEYS = [
  ["j / k", "next, previous row"],
  ["Enter", "open it"],
  ["h / l", "previous, next turn"],
  ["[ / ]", "earlier, later diff"],
  ["d", "diff of the turn"],
  ["/", "search"],
  ["y", "copy the address"],
  [".", "live updates on and off"],
  ["t", "light or dark"],
  ["g", "sessions"],
  ["?", "these keys"],
];

function showKeys() {
  let dialog = document.querySelector("dialog");
  if (!dialog) {
    dialog = document.createElement("dialog");
    dialog.setAttribute("aria-label", "Keys");
    const list = document.createElement("dl");
    list.className = "pairs";
    for (const [key, what] of KEYS) {
      const term = document.createElement("dt");
      const kbd = document.createElement("kbd");
      kbd.textContent = key;
      term.append(kbd);
      const meaning = document.createElement("dd");
      meaning.textContent = what;
      list.append(term, meaning);
    }
    const close = document.createElement("form");
    close.method = "dialog";
    const button = document.createElement("button");
    button.textContent = "Close";
    close.append(button);
    dialog.append(list, close);
    document.body.append(dialog);
  }
  dialog.showModal();
}

function turnBy(step) {
  const here = new URL(location.href);
  const bars = [...main.querySelectorAll("ol.strip a")];
  if (!bars.length) return;
  const now = bars.findIndex((bar) => bar.hasAttribute("aria-current"));
  const next = bars[now < 0 ? (step > 0 ? 0 : bars.length - 1) : now + step];
  if (next && next.href !== here.href) location.assign(next.href);
}

function diffHere() {
  const here = new URL(location.href);
  const session = here.searchParams.get("id") ?? here.searchParams.get("session");
  if (!session) return;
  const to = new URL("/diff", location.origin);
  to.searchParams.set("session", session);
  const turn = here.searchParams.get("turn");
  if (turn) to.searchParams.set("b", turn);
  location.assign(to);
}

function theme() {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = root.dataset.theme ?? (dark ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
  localStorage.setItem("turnlog-theme", root.dataset.theme);
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select");
  if (event.key === "Escape" && typing) return typing.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const does = {
    j: () => choose(1),
    k: () => choose(-1),
    h: () => turnBy(-1),
    l: () => turnBy(1),
    d: diffHere,
    y: () => navigator.clipboard?.writeText(location.href).then(() => say("address copied")),
    ".": () => (source ? stop() : follow()),
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

let source = null;
let waiting = false;
let missed = false;

function say(text) {
  live.textContent = text;
}

async function refresh() {
  if (waiting) return void (missed = true);
  if (document.activeElement?.closest("main form")) return;
  waiting = true;
  try {
    const answer = await fetch(location.href, { headers: { "x-turnlog-part": "main" } });
    if (!answer.ok) return;
    const text = await answer.text();
    const fresh = new DOMParser().parseFromString(`<main>${text}</main>`, "text/html").querySelector("main");
    if (fresh.innerHTML === main.dataset.shown) return;
    main.dataset.shown = fresh.innerHTML;
    const opened = [...main.querySelectorAll("details")].map((each) => each.open);
    const focused = document.activeElement?.closest("main") ? document.activeElement.getAttribute("href") : null;
    const scrolled = [...main.querySelectorAll(".strip, .scroll, pre")].map((each) => [each.scrollLeft, each.scrollTop]);
    main.replaceChildren(...fresh.childNodes);
    arrange();
    main.querySelectorAll("details").forEach((each, index) => (each.open = opened[index] ?? false));
    main.querySelectorAll(".strip, .scroll, pre").forEach((each, index) => {
      [each.scrollLeft, each.scrollTop] = scrolled[index] ?? [0, 0];
    });
    if (focused) main.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    if (chosen >= 0) rows()[chosen]?.classList.add("here");
  } finally {
    waiting = false;
    if (missed) {
      missed = false;
      setTimeout(refresh, 300);
    }
  }
}

function follow() {
  source = new EventSource("/live");
  source.addEventListener("open", () => say("live"));
  source.addEventListener("changed", refresh);
  source.addEventListener("error", () => say("waiting for the server"));
}

function stop() {
  source.close();
  source = null;
  say("paused");
}

const kept = localStorage.getItem("turnlog-theme");
if (kept) document.documentElement.dataset.theme = kept;
arrange();
if (main.hasAttribute("data-live")) follow();
