// Shows how far the import is, and loads the page again when its step has ended. A hidden page asks nothing.
"use strict";

const card = document.querySelector("[data-progress]");

async function refresh() {
  if (document.hidden) return document.addEventListener("visibilitychange", refresh, { once: true });
  try {
    const response = await fetch(card.dataset.progress, { headers: { Accept: "application/json", Purpose: "refresh" } });
    if (response.redirected) return location.reload(); // signed out
    if (response.ok) {
      const progress = await response.json();
      if (progress.state !== card.dataset.state) return location.reload();
      card.querySelector("[data-text]").textContent = progress.text;
      if (progress.state !== "READING") {
        card.querySelector("progress").max = progress.total;
        card.querySelector("progress").value = progress.done;
      }
    }
  } catch {
    // Without a connection the next try comes in two seconds.
  }
  setTimeout(refresh, 2000);
}

if (card) setTimeout(refresh, 1000);
