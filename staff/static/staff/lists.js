"use strict";

// Fields of the filters that are left empty don't stand in the list's address.
document.addEventListener("formdata", ({ target, formData }) => {
  if (target.id !== "filter-form") return;
  for (const [name, value] of [...formData]) if (value === "") formData.delete(name);
});

// Returns the form of a page with a question, or undefined; and the response, or null without an answer.
async function loadForm(url) {
  const response = await fetch(url, { redirect: "manual" }).catch(() => null);
  const page = response?.ok && new DOMParser().parseFromString(await response.text(), "text/html");
  const form = (page || document.createElement("p")).querySelector("main form[method=post], #content form[method=post]");
  if (form) form.action = url;
  return [form, response];
}

// A value in a row is changed in place: its link opens the page's form in a dialog.
document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[data-form]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const [form] = await loadForm(link.href);
  if (!form) return location.assign(link.href);
  const dialog = document.createElement("dialog");
  dialog.className = "form-dialog";
  dialog.ariaLabel = link.title;
  dialog.append(document.adoptNode(form));
  document.body.append(dialog);
  dialog.addEventListener("click", (inner) => {
    if (!inner.target.closest("a[href]:not([target])")) return;
    inner.preventDefault();
    dialog.close();
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    link.focus();
  });
  dialog.showModal();
  window.htmx?.process(form);
  form.querySelector(":is(input, select):not([type=hidden])")?.focus();
});

// The columns of a list are shown in the order in which its form has them.
document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-move]");
  if (!button) return;
  const item = button.closest("li");
  if (button.dataset.move === "up") item.previousElementSibling?.before(item);
  else item.nextElementSibling?.after(item);
  button.focus();
});
