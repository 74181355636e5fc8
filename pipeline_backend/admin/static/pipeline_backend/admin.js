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
