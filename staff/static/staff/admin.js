"use strict";

// Before a form is sent, the page asks whether its session still exists, is of the same person, and whether they must set
// up two-factor sign-in first: the page for that would lose what has been entered. The second click of a double click
// sends nothing. The server adds a row once anyway; this keeps its first response, which may show a secret.
document.addEventListener(
  "submit",
  (event) => {
    const form = event.target;
    if (form.method !== "post") return;
    const url = document.querySelector("[data-token-url]")?.dataset.tokenUrl; // pages without a session have none
    if (form.dataset.state === "ready" || (!url && !form.dataset.state)) {
      form.dataset.state = "sent";
      setTimeout(() => delete form.dataset.state, 5000);
      return;
    }
    // Before any other listener: the page still warns before it is left.
    event.preventDefault();
    event.stopImmediatePropagation();
    if (!form.dataset.state) sendIfSignedIn(form, event.submitter, url);
  },
  true,
);

// The browser's Back shows a form with what was typed in it before. That belongs to the ids and versions that the form
// had then, not to those that the server has sent now: with them, nothing is added twice, and what a colleague has changed
// since isn't overwritten. A page that is opened anew has no such state.
const HIDDEN = ["new_id", "version", "state", "lead_status_was"].map((name) => `input[type=hidden][name=${name}]`).join();

window.addEventListener("pageshow", () => {
  const isBack = performance.getEntriesByType("navigation")[0]?.type === "back_forward";
  const before = (isBack && history.state?.hidden) || {};
  const hidden = {};
  [...document.querySelectorAll("form[method=post]")].forEach((form, index) => {
    const isKept = location.pathname.endsWith("/add/") || [...form.elements].some(isEdited);
    for (const field of form.querySelectorAll(HIDDEN)) {
      const key = `${index} ${form.getAttribute("action")} ${field.name}`;
      if (isKept && key in before) field.value = before[key];
      hidden[key] = field.value;
    }
  });
  if (Object.keys(hidden).length) history.replaceState({ ...history.state, hidden }, "");
});

function isEdited(field) {
  if (field.type === "hidden") return false;
  if (field.options) {
    const options = [...field.options];
    // Without a default, the browser selects the first one.
    if (!field.multiple && !options.some((option) => option.defaultSelected)) return field.selectedIndex > 0;
    return options.some((option) => option.selected !== option.defaultSelected);
  }
  if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
  return "defaultValue" in field && field.value !== field.defaultValue;
}

async function sendIfSignedIn(form, submitter, url) {
  form.dataset.state = "asking";
  const response = await fetch(url, { redirect: "manual", cache: "no-store" }).catch(() => null);
  document.getElementById("not-sent")?.remove();
  if (response?.type === "opaqueredirect") {
    return keepForm(form, "You were signed out.", "/admin/", "sign in");
  }
  // Signing in has changed the token. Whatever else went wrong, the form's own response says it.
  const answer = response?.ok ? await response.json().catch(() => null) : null;
  const isLogout = form.id === "logout-form";
  if (answer?.other_user && !isLogout) {
    const reason = `Another person opened this page; you are signed in as ${answer.other_user} now.`;
    return keepForm(form, reason, "/admin/", "sign in as before");
  }
  if (answer?.needs_two_factor && !isLogout) {
    const reason = "Your organization requires two-factor sign-in.";
    return keepForm(form, reason, "/admin/account/two-factor/", "set it up");
  }
  const field = form.querySelector("[name=csrfmiddlewaretoken]");
  if (answer && field) field.value = answer.token;
  form.dataset.state = "ready";
  form.requestSubmit(submitter);
}

// Shows why the form is not sent, and where the person can change that.
function keepForm(form, reason, url, act) {
  delete form.dataset.state;
  const text =
    '<div id="not-sent" role="alert" class="bg-orange-100 text-orange-700 mb-3 px-3 py-3 rounded-default">' +
    `<span></span> Nothing is lost: <a class="underline" href="${url}" target="_blank">${act} in another tab</a>, ` +
    "then press the button here again.</div>";
  // A form above the page would cover what is before it.
  form.insertAdjacentHTML(getComputedStyle(form).position === "static" ? "beforebegin" : "afterbegin", text);
  const shown = document.getElementById("not-sent");
  shown.querySelector("span").textContent = reason;
  shown.scrollIntoView({ block: "center" });
}

// Asks once in this browser whether to show times in its time zone, if its clock differs from the page's.
document.addEventListener("DOMContentLoaded", () => {
  const form = document.getElementById("browser-zone");
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!form || !zone) return;
  const answered = `zone ${form.dataset.zone} ${zone}`;
  const clock = (timeZone) => [0, 6].map((month) => new Date(2027, month).toLocaleString("en", { timeZone })).join();
  try {
    if (localStorage.getItem(answered) || clock(zone) === clock(form.dataset.zone)) return;
  } catch {
    return; // one of the zones is unknown to the browser
  }
  form.elements.time_zone.value = zone;
  const parts = new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: "longGeneric" }).formatToParts();
  form.querySelector("strong").textContent = parts.find((part) => part.type === "timeZoneName").value;
  form.hidden = false;
  form.style.display = "inline";
  for (const button of form.querySelectorAll("button")) {
    button.addEventListener("click", () => {
      localStorage.setItem(answered, "1");
      if (button.type === "button") form.remove();
    });
  }
});

// Asks every half minute, while the page is visible, what others have changed since it was loaded. A page that shows
// changes by itself prevents the default of the event `updates`.
document.addEventListener("DOMContentLoaded", () => {
  const updates = document.getElementById("updates");
  if (!updates) return;
  const [line, text] = [updates.querySelector("p"), updates.querySelector("span")];
  let [asked, tag] = [Date.now(), ""];
  const ask = async () => {
    if (document.hidden || Date.now() - asked < 29_000) return;
    asked = Date.now();
    const headers = { Purpose: "refresh", ...(tag && { "If-None-Match": tag }) };
    const response = await fetch(updates.dataset.url, { redirect: "manual", headers }).catch(() => null);
    const answer = response?.ok ? await response.json().catch(() => null) : null; // 304: the same as before
    tag = response?.headers.get("ETag") ?? tag;
    if (!answer?.text || text.textContent === answer.text) return;
    const event = new CustomEvent("updates", { detail: answer.text, cancelable: true });
    if (!updates.dispatchEvent(event)) return (tag = "");
    text.textContent = answer.text;
    line.hidden = false;
  };
  setInterval(ask, 30_000);
  document.addEventListener("visibilitychange", ask);
});

// A free time fills in the day and the time of its control.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-start]");
  if (!button) return;
  const [day, time] = button.closest(".timestamp").querySelectorAll("input");
  [day.value, time.value] = button.dataset.start.split(" ");
  time.dispatchEvent(new Event("change", { bubbles: true }));
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

// jQuery calls it after what waits for the page already, which creates the boxes. What is chosen in one of them is an
// event of jQuery alone.
window.addEventListener("load", () => {
  window.django?.jQuery?.(nameBoxes);
  window.django?.jQuery?.(document).on("select2:select select2:clear", (event) => {
    event.target.dispatchEvent(new Event("change", { bubbles: true }));
  });
});

// Unfold's icons are words in a font, which a screen reader would read, and some of its controls aren't buttons.
const CONTROL = "a, button, [x-on\\:click]";
const NAMES = {
  add: "Add",
  close: "Close",
  dock_to_right: "Show or hide the menu",
  more_horiz: "More",
};

function nameIcons() {
  for (const icon of document.querySelectorAll(".material-symbols-outlined")) {
    const control = icon.closest(CONTROL);
    const word = icon.textContent.trim();
    if (control !== icon) icon.ariaHidden = "true";
    if (!control || control.ariaLabel || control.title) continue;
    const texts = control === icon ? [] : [...control.childNodes].filter((node) => !node.contains(icon));
    if (!texts.some((node) => node.textContent.trim())) control.ariaLabel = NAMES[word] ?? word.replaceAll("_", " ");
  }
  for (const control of document.querySelectorAll("[x-on\\:click]:not(a[href], button, input, label)")) {
    if (control.role || !control.textContent.trim() || control.querySelector("a, button, input, select, textarea")) continue;
    control.role = "button";
    control.tabIndex = 0;
    control.addEventListener("keydown", (event) => {
      if (event.target !== control || !["Enter", " "].includes(event.key)) return;
      event.preventDefault();
      control.click();
    });
  }
}

document.addEventListener("DOMContentLoaded", () => {
  nameIcons();
  const main = document.getElementById("main");
  if (main && !document.querySelector("main")) main.role = "main";
  const names = { "nav-sidebar-inner": "Menu", "tabs-items": "Pages" };
  for (const [id, name] of Object.entries(names)) document.getElementById(id)?.setAttribute("aria-label", name);
  // Before SimpleBar, which gives all that scrolls the same name.
  document.getElementById("nav-sidebar-apps")?.setAttribute("data-simplebar-aria-label", "Entries of the menu");
  for (const cell of document.querySelectorAll("#result_list [data-label]")) {
    cell.dataset.label = cell.dataset.label.charAt(0).toUpperCase() + cell.dataset.label.slice(1);
  }
});
