// The second click of a double click sends nothing. The server adds a row once anyway; this keeps its first response,
// which may show a secret.
"use strict";

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  if ("sent" in form.dataset) event.preventDefault();
  form.dataset.sent = "";
  setTimeout(() => delete form.dataset.sent, 5000);
});

// Select2 names its box by the chosen value alone; a screen reader has to say which field it is.
function nameBoxes() {
  for (const box of document.querySelectorAll(".select2-selection")) {
    const select = box.closest(".select2").previousElementSibling;
    const label = select?.labels?.[0];
    if (!label) continue;
    label.id ||= `${select.id}_label`;
    const text = box.querySelector(".select2-selection__rendered");
    for (const part of [box, text]) part.setAttribute("aria-labelledby", `${label.id} ${text.id}`);
    box.querySelector("input")?.setAttribute("aria-labelledby", label.id);
  }
}

// jQuery calls it after what waits for the page already, which creates the boxes.
window.addEventListener("load", () => window.django?.jQuery?.(nameBoxes));
