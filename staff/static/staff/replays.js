// Refreshes the replays on an endpoint's page while one of them is in progress. The server renders them.
"use strict";

(() => {
  const POLL_INTERVAL_MS = 3000;

  async function refresh(replays) {
    const headers = { Purpose: "refresh" };
    const response = await fetch(replays.dataset.source, { credentials: "same-origin", redirect: "error", headers });
    if (!response.ok) return;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const updated = page.getElementById("replays");
    if (updated) replays.replaceWith(updated);
  }

  async function poll() {
    const replays = document.getElementById("replays");
    if (!replays || !("inProgress" in replays.dataset)) return;
    // A hidden tab asks for nothing. A failed request is repeated at the next interval.
    if (!document.hidden) await refresh(replays).catch(() => {});
    setTimeout(poll, POLL_INTERVAL_MS);
  }

  document.addEventListener("DOMContentLoaded", () => setTimeout(poll, POLL_INTERVAL_MS));
})();
