// Keys of a list's rows, and the dialog with all keys of a page, which `?` opens.
const TYPED = "input:not([type=checkbox]), textarea, select, dialog[open], [contenteditable]";
const STEPS = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };
const keys = document.getElementById("keys");
// The elements of a page that have a key name it; such as the buttons of a record.
for (const element of document.querySelectorAll("[data-key]")) {
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
