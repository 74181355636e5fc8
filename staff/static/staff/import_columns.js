// Adds all fields to the select of each column, which the page has only once, and keeps the one that is chosen.
"use strict";

const fields = document.getElementById("import_fields");

for (const select of document.querySelectorAll("select[data-fields]")) {
  const { value } = select;
  select.replaceChildren(select.options[0], fields.content.cloneNode(true));
  select.value = value;
}
