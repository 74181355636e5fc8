// Keys of a list's rows, and the dialog with all keys of a page, which `?` opens.
const TYPED = "input:not([type=checkbox]), textarea, select, dialog[open], [contenteditable]";
const STEPS = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };
const keys = document.getElementById("keys");
// A record that is opened from a list or from Home leads to the next row there, even if this one has left the list.
const HERE = "rows";
document.addEventListener("click", (event) => {
  const link = event.target.closest("#result_list .list-link, .home-what > a");
  if (!link) return;
  const all = [...document.querySelectorAll(link.matches(".list-link") ? "#result_list .list-link" : ".home-what > a")];
  const section = link.closest("section");
  const rows = all.filter((each) => each.closest("section") === section).map((each) => [each.getAttribute("href"), each.textContent]);
  sessionStorage.setItem(HERE, JSON.stringify({ list: location.pathname + location.search, rows }));
});

const nextRow = document.getElementById("next-row");
const opened = nextRow && JSON.parse(sessionStorage.getItem(HERE) ?? "null");
const place = opened ? opened.rows.findIndex(([url]) => url.split(/[?#]/)[0] === location.pathname) : -1;
if (place >= 0) {
  const [url, name] = opened.rows.slice(place + 1).find(([each]) => each.split(/[?#]/)[0] !== location.pathname) ?? [opened.list, "back to the list"];
  nextRow.href = url;
  nextRow.querySelector("span").textContent = name;
  nextRow.hidden = false;
}

// The elements of a page that have a key name it; such as the buttons of a record.
for (const element of document.querySelectorAll("[data-key]:not([hidden])")) {
  const term = document.createElement("dt");
  term.append(document.createElement("kbd"));
  term.firstChild.textContent = element.dataset.key;
  const text = document.createElement("dd");
  text.textContent = element.textContent.trim();
  keys.querySelector("dl").append(term, text);
}

// Rows with a link, which has the focus while the row is the chosen one: so Enter opens it.
function links() {
  const rows = document.querySelectorAll("#result_list .data-row");
  return [...rows].map((row) => row.querySelector("th a[href], td a[href]")).filter(Boolean);
}

function step(event) {
  const all = links();
  const row = document.activeElement.closest(".data-row");
  const present = all.findIndex((link) => link.closest(".data-row") === row);
  const next = all[present + STEPS[event.key]];
  // Before the first row and after the last one, the arrows scroll.
  if (!next || (present < 0 && STEPS[event.key] < 0)) return;
  event.preventDefault();
  next.focus({ focusVisible: true });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest(TYPED)) return;
  if (event.key === "?") {
    keys.showModal();
  } else if (event.key in STEPS) {
    step(event);
  } else if (event.key === "x") {
    document.activeElement.closest(".data-row")?.querySelector(".action-select")?.click();
  }
});
