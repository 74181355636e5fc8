"""Every form of the admin, read from its pages, so that a new form or field is tried without being listed here."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin, urlsplit

from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.test import Client

from tests.hostile.routes import ADMIN_ROUTES
from tests.hostile.tenants import TenantData

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TYPED = ("text", "email", "password", "search", "url", "tel", "number")


@dataclass
class PageForm:
    """A form of a page: its address, its method, and its fields with the values that a browser sends."""

    url: str
    method: str = "get"
    values: dict[str, list[str]] = field(default_factory=dict)
    options: dict[str, list[str]] = field(default_factory=dict)  # of selects, boxes and hidden fields
    buttons: dict[str, list[str]] = field(default_factory=dict)
    typed: dict[str, str] = field(default_factory=dict)  # the fields in which a person types, with their types
    autocompletes: set[str] = field(default_factory=set)

    def __str__(self) -> str:
        return f"{self.method.upper()} {self.url}"

    @property
    def key(self) -> tuple[str, str, tuple[str, ...]]:
        """Equal for forms of one kind: a page can have one for each row."""
        return self.method, urlsplit(self.url).path, tuple(sorted(self.fields))

    @property
    def fields(self) -> list[str]:
        """The names of all fields and buttons."""
        return [*self.values, *self.buttons]

    @property
    def ids(self) -> list[str]:
        """The fields that have the id of a row."""
        known = [*self.options.items(), *self.buttons.items()]
        found = {name for name, texts in known if any(UUID.fullmatch(text) for text in texts)}
        return [name for name in self.fields if name in found | self.autocompletes]

    @property
    def only_asks(self) -> bool:
        """Whether the form leads to another page: it sends a choice that can't be empty to a GET address."""
        return self.method == "get" and any("" not in options for options in self.options.values())

    def data(self, changes: dict[str, object]) -> dict[str, Any]:
        """Return what a browser sends after a click on the first button, with these changes."""
        button = {name: values[:1] for name, values in [*self.buttons.items()][:1]}
        # A select sends its first option if none is chosen.
        chosen = {name: values or self.options.get(name, [])[:1] for name, values in self.values.items()}
        return {**chosen, **button, **changes}

    def at(self, url: str) -> "PageForm":
        """Return the same form at another address."""
        return replace(self, url=url)

    def send(self, client: Client, changes: dict[str, object]) -> Any:
        """Send the form with these changes and return the response."""
        return (client.post if self.method == "post" else client.get)(self.url, self.data(changes))


class PageFormParser(HTMLParser):
    """Collects the forms of a page. A field outside of its form names the form's id."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url, self.forms = url, [PageForm(url)]  # the first one has what belongs to no form
        self.by_id: dict[str, PageForm] = {}
        self.form = self.owner = self.forms[0]
        self.select = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.form = PageForm(urljoin(self.url, attributes.get("action") or self.url))
            self.form.method = attributes.get("method", "get").lower()
            self.forms.append(self.form)
            if "id" in attributes:
                self.by_id[attributes["id"]] = self.form
        if tag == "option" and self.select:
            self.owner.options.setdefault(self.select, []).append(attributes.get("value", ""))
            if "selected" in attributes:
                self.owner.values[self.select].append(attributes.get("value", ""))
        if tag in ("input", "select", "textarea", "button") and attributes.get("name", "csrf")[:4] != "csrf":
            self.owner = self.by_id.get(attributes["form"], self.forms[0]) if "form" in attributes else self.form
            self.add_field(tag, attributes["name"], attributes)

    def add_field(self, tag: str, name: str, attributes: dict[str, str]) -> None:
        """Add a field or a button to the form that it belongs to."""
        kind = attributes.get("type", "text") if tag == "input" else tag
        if kind in ("button", "submit", "file"):
            self.owner.buttons.setdefault(name, []).append(attributes.get("value", ""))
            return
        values = self.owner.values.setdefault(name, [])
        self.select = name if kind == "select" else ""
        if kind in ("checkbox", "radio", "hidden"):
            self.owner.options.setdefault(name, []).append(attributes.get("value", "on"))
        if tag == "input" and (kind not in ("checkbox", "radio") or "checked" in attributes):
            values.append(attributes.get("value", "on" if kind == "checkbox" else ""))
        if kind in (*TYPED, "textarea"):
            self.owner.typed[name] = kind
        if "data-ajax--url" in attributes:
            self.owner.autocompletes.add(name)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.form = self.forms[0]
        if tag == "select":
            self.select = ""


def forms_of(response: Any) -> list[PageForm]:
    """Return the forms of a page that have a field or a button."""
    if "html" not in response.headers.get("Content-Type", ""):
        return []
    parser = PageFormParser(response.wsgi_request.get_full_path())
    parser.feed(response.content.decode())
    return [form for form in parser.forms[1:] if form.fields]


def collect_forms(client: Client, own_data: TenantData, *others: str) -> list[PageForm]:
    """Open every page of the admin with own rows, and these others; return each form once.

    Pages that follow without a change are opened, too: those after a choice, and the actions of lists.
    """
    found: dict[tuple[str, str, tuple[str, ...]], PageForm] = {}
    urls = [
        route.build_url(values)
        for route in ADMIN_ROUTES
        for values in [*own_data.url_arguments(route)][:1]
        if route.name != "logout"
    ]
    for url in [*urls, *others]:
        for form in forms_of(client.get(url, follow=True)):
            if form.key not in found:
                found[form.key] = form
                for behind in pages_behind(client, form):
                    found = {other.key: other for other in forms_of(behind)} | found
    return [form for form in found.values() if not form.url.endswith("/logout/")]


def pages_behind(client: Client, form: PageForm) -> Iterator[Any]:
    """Yield the pages to which the form leads without a change."""
    if form.only_asks:
        yield form.send(client, {})
    rows = form.options.get(ACTION_CHECKBOX_NAME, [])[:1]
    for action in filter(None, form.options.get("action", []) if rows else []):
        yield form.send(client, {"action": action, ACTION_CHECKBOX_NAME: rows})
