"""The pages of the documentation, and the blocks of code on them."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCED = re.compile(r"^( *)```(.*)\n((?:.*\n)*?)\1```$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A block between two lines of backticks, below a heading; `before` is the paragraph above it."""

    page: str
    heading: str
    line: int
    language: str
    text: str
    before: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(*languages: str) -> list[Block]:
    """Return the blocks of all pages, or those in these languages, in their order."""
    found = [block for page in PAGES for block in read_blocks(page)]
    return [block for block in found if not languages or block.language in languages]


def read_blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page."""
    text = page.read_text()
    for match in FENCED.finditer(text):
        above = text[: match.start()].rstrip("\n")
        yield Block(
            page=str(page.relative_to(ROOT)),
            heading=re.findall(r"^#+ (.*)", FENCED.sub("", above), flags=re.MULTILINE)[-1],
            line=text.count("\n", 0, match.start()) + 1,
            language=match[2],
            text=re.sub(rf"^{match[1]}", "", match[3], flags=re.MULTILINE),
            before=above.rpartition("\n\n")[2].strip(),
        )


def split_commands(script: str) -> list[str]:
    """Return the commands of a script: single lines, or several that belong together."""
    commands, lines = [], ""
    for line in script.splitlines(keepends=True):
        lines += line
        if not line.rstrip("\n").endswith("\\") and is_complete(lines):
            commands += [lines] if any(is_command(each) for each in lines.splitlines()) else []
            lines = ""
    assert not lines, f"not complete: {lines}"
    return commands


def is_command(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def is_complete(script: str) -> bool:
    """Return whether the shell needs no further line; it warns of a here-document without an end."""
    result = subprocess.run(["bash", "-n", "-c", script], capture_output=True, check=False)
    return result.returncode == 0 and not result.stderr
