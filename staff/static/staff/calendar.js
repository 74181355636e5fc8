// The calendar opens at the present time, or at the first working hour, and its entries are moved: by mouse or pen, or by
// keyboard (`m`). A move asks as *Reschedule* does, in a dialog with that page's form. Touch scrolls.
"use strict";

(() => {
  const scroll = document.querySelector(".cal-scroll");
  if (!scroll) return;
  const QUARTER = 3; // steps of five minutes
  const PLACE = "calendar place";
  const isAcross = scroll.querySelector(".cal-across") !== null;
  const labels = [...scroll.querySelectorAll(".cal-hours li")].map((label) => label.textContent);
  const message = document.getElementById("cal-message");
  const dialog = document.getElementById("cal-dialog");
  let moving = null; // the entry, where it was, and where it is

  function open() {
    const kept = JSON.parse(sessionStorage.getItem(PLACE) ?? "null");
    sessionStorage.removeItem(PLACE);
    if (kept?.path === location.pathname && Date.now() - kept.at < 60_000) {
      [scroll.scrollTop, scroll.scrollLeft] = kept.grid;
      window.scrollTo(0, kept.page);
      return;
    }
    const today = scroll.querySelector(".cal-today");
    if (matchMedia("(max-width: 767px)").matches) {
      if (today?.previousElementSibling?.matches(".cal-row, .cal-day")) today.scrollIntoView();
      return;
    }
    const [start, length] = isAcross ? ["offsetLeft", "clientWidth"] : ["offsetTop", "clientHeight"];
    const now = scroll.querySelector(".cal-now");
    const first = Math.min(...[...scroll.querySelectorAll(".cal-working")].map((hours) => hours[start]));
    const along = now ? now[start] - scroll[length] / 4 : first;
    if (Number.isFinite(along)) scroll[isAcross ? "scrollLeft" : "scrollTop"] = along;
    if (isAcross && today) scroll.scrollTop = today.offsetTop - scroll.querySelector(".cal-hours").offsetHeight;
  }

  function leave(go) {
    const place = { path: location.pathname, at: Date.now(), grid: [scroll.scrollTop, scroll.scrollLeft], page: scrollY };
    sessionStorage.setItem(PLACE, JSON.stringify(place));
    go?.();
  }

  open();
  if (!dialog) return;

  function say(text) {
    message.textContent = text;
    setTimeout(() => !moving && message.textContent === text && (message.textContent = ""), 6000);
  }

  const startsOf = (day) => day.dataset.starts.split(" ").map(Number);
  const isOfHost = (day) => moving.first.day.dataset.host === day.dataset.host;
  const hostOf = (day) => day.querySelector("h4").title;
  // Where the moved entry can be put, in order: the days of its host, and those of others who can have calls. A day on
  // which nobody works has no place for an entry.
  const days = () => [...scroll.querySelectorAll(".cal-day")].filter((day) => isOfHost(day) || "takes" in day.dataset);

  function begin(link) {
    const entry = link.closest("li");
    const [day, style] = [entry.closest(".cal-day"), getComputedStyle(entry)];
    const step = 12 * style.getPropertyValue("--h") + Number(style.getPropertyValue("--m"));
    moving = { link, entry, day, step, first: { day, step, next: entry.nextSibling } };
    entry.classList.add("cal-moving");
  }

  // Puts the entry to a step of a day, unless its clock skips that hour.
  function put(day, step) {
    const bounded = Math.max(0, Math.min(step, 12 * labels.length - QUARTER));
    if (!startsOf(day)[Math.floor(bounded / 12)]) return false;
    const { entry, link } = moving;
    const hadFocus = link === document.activeElement;
    if (moving.day !== day) day.querySelector(".cal-column").append(entry);
    [moving.day, moving.step] = [day, bounded];
    const places = { "--h": Math.floor(bounded / 12), "--m": bounded % 12, "--l": 0, "--w": 1 };
    for (const [name, value] of Object.entries(places)) entry.style.setProperty(name, value);
    if (hadFocus) link.focus();
    return true;
  }

  function where() {
    const [hour, again = ""] = labels[Math.floor(moving.step / 12)].split(" ");
    const [year, month, number] = moving.day.dataset.day.split("-").map(Number);
    const day = new Date(year, month - 1, number).toLocaleDateString("en-GB", { weekday: "short", day: "numeric", month: "short" });
    const time = `${day}, ${hour.slice(0, 2)}:${String((moving.step % 12) * 5).padStart(2, "0")} ${again}`.trim();
    return isOfHost(moving.day) ? time : `${time}, ${hostOf(moving.day)}`;
  }

  const nameOf = (link) => link.querySelector("strong").textContent;

  function putBack(text = "") {
    if (!moving) return;
    const { entry, link, first } = moving;
    const hadFocus = link === document.activeElement || document.activeElement === document.body;
    moving = null;
    if (entry.closest(".cal-day") !== first.day) first.day.querySelector(".cal-column").insertBefore(entry, first.next);
    entry.removeAttribute("style");
    entry.classList.remove("cal-moving");
    if (hadFocus) link.focus();
    say(text);
  }

  // Shows the form of *Reschedule* with the new time and host. The server refuses what someone has changed meanwhile: its page
  // after that shows the present state, and why.
  async function ask() {
    const { link, day, step, first } = moving;
    moving.asks = true;
    if (day === first.day && step === first.step) return putBack("Nothing was moved.");
    const query = new URLSearchParams({ state: link.dataset.state, calendar: location.search.slice(1) });
    // Steps are not exact: what isn't moved in time keeps its minutes.
    if (day.dataset.day !== first.day.dataset.day || step !== first.step)
      query.set("to", new Date((startsOf(day)[Math.floor(step / 12)] + (step % 12) * 300) * 1000).toISOString());
    if (!isOfHost(day)) query.set("host", day.dataset.host);
    const url = `${link.dataset.move}?${query}`;
    const [form, response] = await loadForm(url);
    if (response?.type === "opaqueredirect") return leave(() => location.reload());
    if (response?.status === 403) return putBack(`You may not move ${nameOf(link)}.`);
    if (!form) return putBack("Nothing was moved: the server did not answer. Try again.");
    say("");
    dialog.querySelector("div").replaceChildren(document.adoptNode(form));
    dialog.showModal();
    window.htmx?.process(form);
    form.querySelector("button[type=submit]")?.focus();
  }

  dialog.addEventListener("click", (event) => {
    if (!event.target.closest("a[href]:not([target])")) return;
    event.preventDefault();
    dialog.close();
  });
  dialog.addEventListener("submit", () => leave());
  dialog.addEventListener("close", () => {
    const link = moving?.link;
    putBack("Nothing was moved.");
    link?.focus();
  });

  // By mouse or pen
  let grabbed = null;
  scroll.addEventListener("pointerdown", (event) => {
    const link = event.target.closest("[data-move]");
    if (!link || event.button !== 0 || event.pointerType === "touch" || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const box = link.closest("li").getBoundingClientRect();
    putBack();
    grabbed = { link, x: event.clientX, y: event.clientY, left: event.clientX - box.left, top: event.clientY - box.top };
  });
  scroll.addEventListener("dragstart", (event) => event.preventDefault());
  addEventListener("pointermove", (event) => {
    if (!grabbed) return;
    if (!moving) {
      if (Math.hypot(event.clientX - grabbed.x, event.clientY - grabbed.y) < 5) return;
      begin(grabbed.link);
      document.documentElement.classList.add("cal-dragging");
    }
    scrollAtEdge(event);
    const [low, high, at] = isAcross ? ["top", "bottom", event.clientY] : ["left", "right", event.clientX];
    const near = (day) => {
      const box = day.getBoundingClientRect();
      return Math.max(box[low] - at, at - box[high], 0);
    };
    const day = days().reduce((best, each) => (near(each) < near(best) ? each : best));
    const box = day.querySelector(".cal-column").getBoundingClientRect();
    const [from, size] = isAcross
      ? [event.clientX - grabbed.left - box.left, box.width]
      : [event.clientY - grabbed.top - box.top, box.height];
    const step = (from / size) * labels.length * 12;
    put(day, Math.abs(step - moving.first.step) < QUARTER / 2 ? moving.first.step : Math.round(step / QUARTER) * QUARTER);
    say(`${nameOf(moving.link)}: ${where()}`);
  });

  function scrollAtEdge({ clientX, clientY }) {
    const box = scroll.getBoundingClientRect();
    const pull = (at, low, high) => (at < low + 40 ? -16 : at > high - 40 ? 16 : 0);
    scroll.scrollBy(pull(clientX, box.left + (isAcross ? 176 : 56), box.right), pull(clientY, box.top + 40, Math.min(box.bottom, innerHeight)));
  }

  addEventListener("pointerup", () => {
    if (grabbed && moving) {
      addEventListener("click", stop, { capture: true, once: true });
      setTimeout(() => removeEventListener("click", stop, { capture: true }));
      ask();
    }
    letGo();
  });
  addEventListener("pointercancel", () => {
    letGo();
    putBack();
  });

  function letGo() {
    grabbed = null;
    document.documentElement.classList.remove("cal-dragging");
  }

  function stop(event) {
    event.preventDefault();
    event.stopPropagation();
  }

  // By keyboard
  const ARROWS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || dialog.open || moving?.asks) return;
      const link = event.target.closest?.(".cal [data-move]");
      if (!moving && link && event.key === "m") begin(link);
      else if (!moving) return;
      else if (event.key === "Escape") {
        letGo();
        stop(event);
        return putBack("Nothing was moved.");
      } else if (event.key === "Enter" && !grabbed) {
        stop(event);
        return ask();
      } else if (event.key in ARROWS) {
        const [x, y] = ARROWS[event.key];
        const [along, away] = isAcross ? [x, y] : [y, x];
        if (along) shift(along);
        const all = days().filter((day) => !event.shiftKey || day.dataset.host === moving.day.dataset.host);
        const next = all[all.indexOf(moving.day) + away];
        if (away && next) put(next, moving.step);
        moving.entry.scrollIntoView({ block: "nearest", inline: "nearest" });
      } else return;
      stop(event);
      say(`${nameOf(moving.link)}: ${where()}. Arrow keys move it, Enter asks, Escape puts it back.`);
    },
    true,
  );

  function shift(along) {
    let step = along > 0 ? Math.floor(moving.step / QUARTER) * QUARTER : Math.ceil(moving.step / QUARTER) * QUARTER;
    do step += along * QUARTER;
    while (step > 0 && step < 12 * labels.length - QUARTER && !startsOf(moving.day)[Math.floor(step / 12)]);
    put(moving.day, step);
  }

  scroll.addEventListener("focusout", () => {
    if (moving && !grabbed && !moving.asks) setTimeout(() => moving?.link !== document.activeElement && !moving?.asks && !grabbed && putBack());
  });
})();
