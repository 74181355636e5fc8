"use strict";

// Offers colleagues after an @ in a note: arrows, Enter or Tab choose, Escape closes. Without it, names are typed.
(() => {
  const MOST = 6;
  const list = document.createElement("ul");
  Object.assign(list, { id: "mentions", className: "mentions", role: "listbox", ariaLabel: "Colleagues" });
  let field = null;
  let typed = "";

  const matches = (name) => {
    const [text, start] = [name.toLowerCase(), typed.toLowerCase()];
    return text.startsWith(start) || text.split(/\s+/).some((word) => word.startsWith(start));
  };

  function close() {
    list.remove();
    for (const name of ["aria-activedescendant", "aria-autocomplete", "aria-controls"]) field?.removeAttribute(name);
    field = null;
  }

  function select(option) {
    for (const each of list.children) each.ariaSelected = String(each === option);
    field.setAttribute("aria-activedescendant", option.id);
  }

  function offer(textarea) {
    const before = textarea.value.slice(0, textarea.selectionStart);
    const match = /(?:^|[^\w.+-])@([^@\n]{0,60})$/.exec(before);
    typed = match ? match[1] : ""; // as it is: İ in lower case is longer
    const names = match ? JSON.parse(textarea.dataset.mentions).filter(matches).slice(0, MOST) : [];
    if (!names.length || names.some((name) => name.toLowerCase() === typed.toLowerCase())) return close();
    field = textarea;
    list.replaceChildren(
      ...names.map((name, index) => {
        const option = document.createElement("li");
        Object.assign(option, { id: `mention-${index}`, role: "option", textContent: name });
        return option;
      }),
    );
    textarea.after(list);
    list.style.top = `${textarea.offsetTop + textarea.offsetHeight}px`;
    list.style.left = `${textarea.offsetLeft}px`;
    textarea.setAttribute("aria-autocomplete", "list");
    textarea.setAttribute("aria-controls", list.id);
    select(list.firstChild);
  }

  function choose(option) {
    const textarea = field;
    const end = textarea.selectionStart;
    textarea.setRangeText(`${option.textContent} `, end - typed.length, end, "end");
    close();
    textarea.focus();
  }

  document.addEventListener("input", (event) => event.target.dataset?.mentions && offer(event.target));
  document.addEventListener("focusout", close);
  list.addEventListener("mousedown", (event) => {
    event.preventDefault(); // the textarea keeps the focus
    if (event.target.role === "option") choose(event.target);
  });
  document.addEventListener(
    "keydown",
    (event) => {
      if (!field || event.target !== field || event.ctrlKey || event.metaKey || event.altKey) return;
      const selected = list.querySelector("[aria-selected=true]");
      const next = { ArrowDown: selected.nextSibling ?? list.firstChild, ArrowUp: selected.previousSibling ?? list.lastChild };
      if (event.key === "Escape") close();
      else if (event.key === "Enter" || event.key === "Tab") choose(selected);
      else if (event.key in next) select(next[event.key]);
      else return;
      event.preventDefault();
      event.stopImmediatePropagation(); // Escape would close the form
    },
    true,
  );
})();
