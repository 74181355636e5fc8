"use strict";

// Fields of the filters that are left empty don't stand in the list's address.
document.addEventListener("formdata", ({ target, formData }) => {
  if (target.id !== "filter-form") return;
  for (const [name, value] of [...formData]) if (value === "") formData.delete(name);
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
