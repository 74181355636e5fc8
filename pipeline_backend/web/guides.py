"""The guides as pages and as Markdown, the relays' files, and their list, `/llms.txt` (https://llmstxt.org)."""

import posixpath
import re
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import cache_control
from django.views.decorators.http import conditional_page, require_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token
from rest_framework.request import Request
from rest_framework.views import APIView

from foundation.api.responses import JsonRenderer
from pipeline_backend.settings.instance import ROOT
from pipeline_backend.settings.rest_framework import REPOSITORY


class Guide(NamedTuple):
    path: str  # in the repository
    summary: str


GUIDES = {
    "api": Guide(
        "docs/api.md", "Requests to copy and paste: book, move, look up, copy all data; recipes for other programs"
    ),
    "relays": Guide("integrations/README.md", "Relay bookings and forms of Calendly, Cal.com and Typeform"),
    "interface": Guide("docs/interface.md", "Every rule of the requests and responses, numbered"),
    "webhooks": Guide("docs/webhooks.md", "Receive signed events, and keep a copy of the data"),
    "booking": Guide("docs/booking.md", "What happens between request and webhook, for people who read the code"),
}
GUIDE_NAMES = {guide.path: name for name, guide in GUIDES.items()}
# The relays, by their paths below /api/docs/.
FILES = {
    f"relays/{file.name}": file
    for file in sorted((ROOT / "integrations").iterdir())
    if file.suffix in (".py", ".json") and file.name != "__init__.py"
}
# Below /api/docs/; the list of the guides has no name.
PATHS = ["", *GUIDES, *(f"{name}.md" for name in GUIDES), *FILES]
SUMMARY = "Stores leads, appointments, opt-ins and sales statuses, and delivers signed webhooks about every change."
MAX_AGE_SECONDS = 300
# The address in the guides, which each service replaces by its own.
EXAMPLE_URL = "http://127.0.0.1:8000"

# In docs/interface.md: where a rule begins, and where a text refers to one.
RULE = re.compile(r"^\*\*([A-Z]\d+)\.\*\*", re.MULTILINE)
REFERENCE = re.compile(r"(?<![\w*`/])[A-Z]\d+\b(?![*`/])")

parser = MarkdownIt("commonmark").enable("table")


@cache
def read_guide(name: str) -> str:
    """Return the guide's Markdown with the address of this service and with links that work here."""
    path = GUIDES[name].path

    def link(match: re.Match[str]) -> str:
        return "](" + find_target(posixpath.normpath(posixpath.join(posixpath.dirname(path), match[1])))

    return re.sub(r"\]\(([^():#]+)(?=[#)])", link, (ROOT / path).read_text()).replace(EXAMPLE_URL, settings.BASE_URL)


def find_target(path: str) -> str:
    """Return where a link to a file of the repository leads: guides, relays and the OpenAPI document are served."""
    if path in GUIDE_NAMES:
        return f"{GUIDE_NAMES[path]}.md"
    file = f"relays/{posixpath.basename(path)}"
    if path.startswith("integrations/") and file in FILES:
        return file
    return reverse("schema") if path == "docs/openapi.json" else f"{REPOSITORY}/blob/main/{path}"


def read_title(name: str) -> str:
    return read_guide(name).partition("\n")[0].removeprefix("# ")


@cache
def list_guides() -> str:
    base = settings.BASE_URL
    guides = [f"- [{read_title(name)}]({base}/api/docs/{name}.md): {guide.summary}" for name, guide in GUIDES.items()]
    document = f"- [OpenAPI document]({base}/api/schema): Every operation, field and example, for generators and agents"
    return "\n".join(["# Pipeline Backend", "", f"> {SUMMARY}", "", "## Guides", "", *guides, document, ""])


@cache
def render_guide(name: str) -> str:
    """Return the guide as a page; without a name, the list of the guides."""
    source = read_guide(name) if name else list_guides()
    rules = set(RULE.findall(source))
    source = REFERENCE.sub(lambda match: f"[{match[0]}](#{match[0]})" if match[0] in rules else match[0], source)
    base = re.escape(f"{settings.BASE_URL}/api/docs/")
    tokens = parser.parse(re.sub(rf"\]\((?:{base})?(\w+)\.md(?=[#)])", r"](\1", source))
    values = {
        "name": name,
        "title": read_title(name) if name else "Guides",
        "guides": {name: read_title(name) for name in GUIDES},
        "headings": add_anchors(tokens) if name else {},
        "content": parser.renderer.render(tokens, parser.options, {}),
    }
    return render_to_string("guide.html", values)


def add_anchors(tokens: list[Token]) -> dict[str, str]:
    """Name each heading as GitHub does, and each rule; let the keyboard scroll tables.

    Return the sections' anchors and titles.
    """
    sections: dict[str, str] = {}
    for token, content in pairwise(tokens):
        if token.type == "heading_open":
            anchor = re.sub(r"[^\w\- ]", "", content.content.lower()).replace(" ", "-")
            token.attrs["id"] = anchor
            sections |= {anchor: content.content} if token.tag == "h2" else {}
        elif token.type == "paragraph_open" and (rule := RULE.match(content.content)):
            token.attrs["id"] = rule[1]
        elif token.type == "table_open":
            token.attrs["tabindex"] = 0
    return sections


public = method_decorator([cache_control(public=True, max_age=MAX_AGE_SECONDS), conditional_page])


class GuideView(APIView):
    """A guide as a page, or as Markdown below its name with `.md`; or a relay's file. Needs no key."""

    http_method_names = ["get", "head"]
    authentication_classes = permission_classes = ()
    renderer_classes = [JsonRenderer]  # of errors
    schema = None

    @public
    def get(self, request: Request, name: str) -> HttpResponse:
        if name in FILES:
            return HttpResponse(FILES[name].read_bytes(), content_type="text/plain; charset=utf-8")
        if name.endswith(".md"):
            return HttpResponse(read_guide(name.removesuffix(".md")), content_type="text/markdown; charset=utf-8")
        return HttpResponse(render_guide(name))


@require_safe
@cache_control(public=True, max_age=MAX_AGE_SECONDS)
@conditional_page
def show_llms_txt(request: HttpRequest) -> HttpResponse:
    return HttpResponse(list_guides(), content_type="text/plain; charset=utf-8")
