// A board: cards are dragged or moved by their menu, columns are folded, and further cards load on scroll.
// Without this script a menu's button leads to a page that asks where to, and "More" leads to the list.
"use strict";

(() => {
  const board = document.querySelector(".board");
  if (!board) return;
  const form = document.getElementById("board-move");
  const message = board.querySelector(".board-message");
  const targets = document.getElementById("board-targets");

  const MAX_REQUESTS = 20; // for the cards beyond the first ones of all columns, when the board is brought up to date

  const all = (selector, root = board) => [...root.querySelectorAll(selector)];
  const listOf = (key) => all(".board-cards").find((list) => list.dataset.column === key);
  const [idOf, keyOf] = [0, 1].map((part) => (card) => card.dataset.position.split(":")[part]);

  function say(text, isProblem) {
    message.textContent = text;
    message.classList.toggle("board-problem", isProblem);
  }

  function parse(html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.content;
  }

  function count(key, change) {
    const shown = listOf(key)?.closest(".board-column").querySelector("[data-count]");
    if (shown && !shown.textContent.endsWith("+")) {
      shown.textContent = (Number(shown.textContent.replaceAll(",", "")) + change).toLocaleString("en");
    }
  }

  // Sends a move. `undo` puts the card back where it was.
  async function move(card, to, undo) {
    const data = new FormData();
    for (const input of form.querySelectorAll("input")) data.set(input.name, input.value);
    data.set("card", card.dataset.position);
    data.set(`to-${idOf(card)}`, to);
    card.classList.add("board-busy");
    let answer;
    try {
      const response = await fetch(form.action, { method: "POST", body: data, headers: { Accept: "application/json" } });
      answer = await response.json();
    } catch {
      undo();
      say("Nothing was moved: the server did not answer, or your session has ended. Reload the page.", true);
      return;
    } finally {
      card.classList.remove("board-busy");
    }
    if (answer.state === "asks") {
      undo();
      location.assign(answer.url);
      return;
    }
    if (answer.card === undefined) {
      undo();
    } else {
      place(card, answer.card, answer.column);
    }
    say(answer.message, answer.state !== "moved");
    if (answer.state === "moved" && answer.undo) message.append(" ", parse(answer.undo).firstElementChild);
  }

  // Puts the present card into its present column: where it was dropped, or else at the top.
  function place(card, html, column) {
    const fresh = parse(html).firstElementChild;
    const list = listOf(column);
    const hadFocus = card.contains(document.activeElement);
    // Its place in the order of the column is unknown here.
    if (column !== keyOf(card) || "arrived" in card.dataset) fresh.dataset.arrived = "";
    count(keyOf(card), -1);
    count(column, 1);
    if (card.parentElement === list) {
      card.replaceWith(fresh);
    } else {
      card.remove();
      list?.prepend(fresh);
    }
    if (hadFocus && list) fresh.querySelector("a").focus();
  }

  for (const list of all(".board-cards")) {
    new Sortable(list, {
      group: { name: "board", put: "target" in list.dataset },
      sort: false,
      draggable: ".board-card[data-movable]",
      filter: ".board-menu",
      preventOnFilter: false,
      delay: 200,
      delayOnTouchOnly: true,
      animation: matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 150,
      onEnd({ item, from, to }) {
        const next = item.boardNext;
        if (from !== to) move(item, to.dataset.column, () => from.insertBefore(item, next?.parentElement === from ? next : null));
      },
      onStart({ item }) {
        item.boardNext = item.nextElementSibling;
      },
    });
  }

  board.addEventListener("click", (event) => {
    const button = event.target.closest("button[name=card]");
    if (!button) return;
    event.preventDefault();
    const card = button.closest(".board-card");
    const to = card.querySelector("select")?.value ?? keyOf(card);
    if (to !== keyOf(card)) move(card, to, () => {});
  });

  // A menu gets its list of columns when it is opened. The event doesn't bubble.
  function fill({ target: menu }) {
    if (!menu.open || !menu.matches(".board-menu") || menu.querySelector("select")) return;
    const label = targets.content.cloneNode(true);
    label.querySelector("select").value = keyOf(menu.closest(".board-card"));
    menu.querySelector("button").before(label);
  }
  board.addEventListener("toggle", fill, true);

  board.addEventListener("keydown", (event) => {
    const menu = event.target.closest(".board-menu[open]");
    if (event.key !== "Escape" || !menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });

  // Returns the cards of a column after those of its order that the list has: some may have left it since it was loaded.
  async function fetchNext(list) {
    const link = list.querySelector("[data-more]");
    if (!link) return null;
    const url = new URL(link.dataset.more, location);
    url.searchParams.set("offset", all(".board-card:not(.board-busy, [data-arrived])", list).length);
    const response = await fetch(url, { headers: { Purpose: "refresh" } }).catch(() => null);
    return response?.ok && !response.redirected ? parse(await response.text()) : null;
  }

  function append(list, cards, known) {
    for (const card of all(".board-card", cards)) if (known.has(idOf(card))) card.remove();
    list.querySelector(".board-more").replaceWith(cards);
  }

  async function load(more) {
    if (more.dataset.loading) return;
    more.dataset.loading = "yes";
    const list = more.closest(".board-cards");
    const cards = await fetchNext(list);
    delete more.dataset.loading;
    if (!cards || !more.isConnected) return;
    append(list, cards, new Set(all(".board-card").map(idOf)));
    all(".board-more", list).forEach(watch);
  }

  const watcher = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) load(target);
  });

  function watch(more) {
    watcher.observe(more);
    more.querySelector("[data-more]")?.addEventListener("click", (event) => {
      event.preventDefault();
      load(more);
    });
  }
  all(".board-more").forEach(watch);

  const isBusy = () => board.querySelector(".board-busy, .board-menu[open], .sortable-chosen") !== null;

  // Shows what others have moved, unless a card is being moved here: then it is shown half a minute later.
  const updates = document.getElementById("updates");
  updates?.addEventListener("updates", async (event) => {
    event.preventDefault();
    if (isBusy()) return;
    const response = await fetch(location.href, { headers: { Purpose: "refresh" } }).catch(() => null);
    if (!response?.ok || response.redirected) return;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const lists = all(".board-cards", page);
    if (lists.map((list) => list.dataset.column).join() !== all(".board-cards").map((list) => list.dataset.column).join()) {
      updates.querySelector("span").textContent = event.detail; // other columns: the page has to be loaded again
      updates.querySelector("p").hidden = false;
      return;
    }
    // As many cards as were shown, so that nobody loses the place.
    const known = new Set(lists.flatMap((list) => all(".board-card", list).map(idOf)));
    let requests = 0;
    for (const fresh of lists) {
      const shown = all(".board-card", listOf(fresh.dataset.column)).length;
      while (all(".board-card", fresh).length < shown && requests++ < MAX_REQUESTS) {
        const cards = await fetchNext(fresh);
        if (!cards) break;
        append(fresh, cards, known);
        for (const card of all(".board-card", fresh)) known.add(idOf(card));
      }
    }
    if (isBusy()) return;
    const focused = document.activeElement.closest?.(".board-card");
    const focusedId = focused && idOf(focused);
    for (const fresh of lists) {
      const list = listOf(fresh.dataset.column);
      const [shown, present] = [list, fresh].map((each) => each.closest(".board-column").querySelector("[data-count]"));
      shown.textContent = present.textContent;
      list.replaceChildren(...fresh.children);
      all(".board-more", list).forEach(watch);
    }
    if (focusedId) all(".board-card").find((card) => idOf(card) === focusedId)?.querySelector("a").focus();
    updates.dataset.url = page.getElementById("updates").dataset.url;
    say(event.detail, false);
  });

  const name = `board-folded ${location.pathname}`;
  const folded = new Set(JSON.parse(localStorage.getItem(name) ?? "[]"));
  for (const column of all(".board-column")) {
    column.open = !folded.has(column.dataset.column);
    column.addEventListener("toggle", () => {
      folded[column.open ? "delete" : "add"](column.dataset.column);
      localStorage.setItem(name, JSON.stringify([...folded]));
    });
  }
})();
