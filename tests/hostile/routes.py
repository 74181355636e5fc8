"""Every URL of the service, read from Django's resolver, so that a new route is tested without being listed here."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib.admin import ModelAdmin
from django.contrib.admin.utils import quote
from django.urls import URLPattern, URLResolver, get_resolver

from pipeline_backend.web.middleware import API_PATH
from tests.staff.pages import MODEL_ADMINS


@dataclass(frozen=True)
class Route:
    """One URL pattern: the pattern's text as Django has it, and the names of its arguments."""

    pattern: str
    name: str | None
    arguments: tuple[str, ...]
    callback: Callable[..., Any]

    def build_url(self, values: dict[str, str]) -> str:
        """Return the URL with these arguments, quoted as the admin quotes ids."""
        path = url_template(self.pattern)
        for name in self.arguments:
            path = path.replace(f"<{name}>", quote(values[name]))
        return path

    @property
    def model_admin(self) -> ModelAdmin | None:
        """The model admin whose pages the URL belongs to, if any."""
        for page in MODEL_ADMINS:
            if f"admin/{page.opts.app_label}/{page.opts.model_name}/" in self.pattern:
                return page
        return None


def iter_routes(resolver: URLResolver | None = None, prefix: str = "") -> Iterator[Route]:
    """Yield all routes of a resolver, by default of the whole project."""
    for entry in (resolver or get_resolver()).url_patterns:
        pattern = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from iter_routes(entry, pattern)
        elif isinstance(entry, URLPattern):
            yield Route(pattern, entry.name, tuple(argument_names(pattern)), entry.callback)


def argument_names(pattern: str) -> list[str]:
    """Return the names of a pattern's arguments, which look like `<path:object_id>` or `(?P<url>.*)`."""
    return [part.split(">")[0].split(":")[-1] for part in pattern.split("<")[1:]]


def url_template(pattern: str) -> str:
    """Return the pattern as a URL with `<name>` for each argument, without the characters of regular expressions."""
    for name in argument_names(pattern):
        for opening, closing in (("(?P<", ")"), ("<", ">")):
            for converter in ("", "path:", "str:"):
                start = pattern.find(f"{opening}{converter}{name}>")
                if start >= 0:
                    # \0 and \1 stand for < and >, so that a finished argument isn't found again.
                    end = pattern.index(closing, start) + 1
                    pattern = f"{pattern[:start]}\0{name}\1{pattern[end:]}"
    return "/" + pattern.replace("\0", "<").replace("\1", ">").replace("^", "").replace("$", "")


ADMIN_ROUTES = [route for route in iter_routes() if route.pattern.startswith("admin/")]
API_ROUTES = [route for route in iter_routes() if route.pattern.startswith(("api/", API_PATH.pattern))]
OTHER_ROUTES = [route for route in iter_routes() if not route.pattern.startswith(("admin/", "api/", API_PATH.pattern))]
