// The record page's keys and copy buttons. Without it, the buttons and forms work the same.
if (navigator.clipboard) document.documentElement.classList.add("record-scripted");

document.addEventListener("click", async (event) => {
  const button = event.target.closest(".record-copy");
  if (button) {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  }
  for (const menu of document.querySelectorAll(".record-menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    for (const menu of document.querySelectorAll(".record-menu[open]")) menu.open = false;
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
  const target = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (!target) return;
  event.preventDefault();
  target.click();
  if (target.hash) document.querySelector("#content-main form[id$=_form] :is(input, select, textarea):not([type=hidden])")?.focus();
  target.parentElement.querySelector(":is(textarea, input, select):not([type=hidden])")?.focus();
});
