// An endpoint's page: its replays move as they go. The part of the page comes from the server; nothing else is asked for.
"use strict";

(() => {
  const EVERY_MS = 3000;

  async function refresh(part) {
    const answer = await fetch(part.dataset.from, { credentials: "same-origin", redirect: "error" });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("replays");
    if (fresh) part.replaceWith(fresh);
  }

  async function look() {
    const part = document.getElementById("replays");
    if (!part || !("moving" in part.dataset)) return;
    if (!document.hidden) await refresh(part).catch(() => {}); // the server is away: it is asked again
    setTimeout(look, EVERY_MS);
  }

  document.addEventListener("DOMContentLoaded", () => setTimeout(look, EVERY_MS));
})();
