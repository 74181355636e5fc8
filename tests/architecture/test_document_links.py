"""Links between the Markdown files lead to files and headings that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINKED = ("*.md", "docs/**/*.md", "clients/*/*.md", "integrations/*.md")
DOCUMENTS = sorted(path for pattern in LINKED for path in ROOT.glob(pattern))


def anchors(document: Path) -> set[str]:
    """Return the anchors of headings, as GitHub and GitLab name them, and of rules, as the served guides name them."""
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)", text, re.MULTILINE)
    rules = re.findall(r"^\*\*([A-Z]\d+)\.\*\*", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings} | set(rules)


def links(document: Path) -> list[str]:
    """Return the targets of a document's links, without those to other sites."""
    targets = re.findall(r"\]\(([^)\s]+)\)", document.read_text())
    return [target for target in targets if not re.match(r"\w+:", target)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files_and_headings_that_exist(document: Path) -> None:
    for link in links(document):
        name, _, anchor = link.partition("#")
        target = document.parent / name if name else document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link
