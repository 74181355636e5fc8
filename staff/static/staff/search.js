// The dialog of the search over everything (Ctrl-K). Without this script, the button in the header opens a page.
const WAIT = 200; // milliseconds without a key before a search is sent

const dialog = document.getElementById("search");
const form = dialog.querySelector("form");
const input = form.elements.q;
const answer = dialog.querySelector("[role=status]");
const found = document.getElementById("search-found");
let timer, request, foundText;

function openSearch() {
  if (!dialog.open) dialog.showModal();
  input.select();
}

// Nothing stays in the page: not the text, nor the rows.
dialog.addEventListener("close", () => {
  input.value = "";
  stop();
  show("");
});

function stop() {
  clearTimeout(timer);
  request?.abort();
}

input.addEventListener("input", () => {
  stop();
  timer = setTimeout(search, WAIT);
});

async function search() {
  const { signal } = (request = new AbortController());
  const text = input.value;
  try {
    const parameters = new URLSearchParams({ q: text, dialog: "" });
    const response = await fetch(`${form.action}?${parameters}`, { signal, redirect: "manual", cache: "no-store" });
    const html = response.ok ? await response.text() : problem(response);
    // A newer search has replaced this one.
    if (signal.aborted) return;
    show(html);
    foundText = text;
  } catch {
    if (!signal.aborted) show("The server can’t be reached. Try again.");
  }
}

function problem(response) {
  if (response.type === "opaqueredirect") return "You were signed out. Sign in in another tab, then type again.";
  if (response.status === 429) return "Too many searches in a minute. Wait a moment, then type again.";
  return "There is no answer to this. Type more of the name, or something else.";
}

function show(html) {
  found.innerHTML = html;
  const text = found.querySelector(".search-answer") ?? found.firstChild;
  answer.textContent = text?.textContent ?? "";
  text?.remove();
  const options = found.querySelectorAll("[role=option]");
  found.hidden = options.length === 0;
  input.ariaExpanded = String(!found.hidden);
  foundText = undefined;
  choose(options[0]);
}

function choose(option) {
  found.querySelector("[aria-selected=true]")?.setAttribute("aria-selected", "false");
  option?.setAttribute("aria-selected", "true");
  option?.scrollIntoView({ block: "nearest" });
  if (option) input.setAttribute("aria-activedescendant", option.id);
  else input.removeAttribute("aria-activedescendant");
}

input.addEventListener("keydown", (event) => {
  if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
  const options = [...found.querySelectorAll("[role=option]")];
  const chosen = options.findIndex((option) => option.ariaSelected === "true");
  const next = { ArrowDown: chosen + 1, ArrowUp: chosen - 1 }[event.key];
  if (next !== undefined && options.length) {
    event.preventDefault();
    choose(options.at(next % options.length));
  } else if (event.key === "Enter" && chosen >= 0 && foundText === input.value) {
    // Before the answer to what is typed, Enter opens the page that waits for it.
    event.preventDefault();
    options[chosen].click();
  }
});

dialog.addEventListener("click", (event) => {
  if (event.target === dialog || event.target.value === "close") dialog.close();
});

document.addEventListener("click", (event) => {
  const isPlain = !event.ctrlKey && !event.metaKey && !event.shiftKey;
  if (!isPlain || !event.target.closest(".search-button")) return;
  event.preventDefault();
  openSearch();
});

document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || event.key.toLowerCase() !== "k") return;
  event.preventDefault();
  openSearch();
});
