"""Checks that changelog, pyproject.toml and git tags agree, and makes a release: python scripts/release.py [VERSION].

Without a version it only checks. With one it writes a source archive to dist/, builds the image if docker is
installed, and then creates the tag. It pushes nothing. Needs only Python and git, no packages.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "pipeline-backend"
VERSION = r"\d+\.\d+\.\d+"


def git(*arguments: str) -> str:
    """Return what git prints. Exits with its message if it fails."""
    result = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"git {arguments[0]}: {result.stderr.strip()}")
    return result.stdout.strip()


def version_tags() -> list[str]:
    """Return the tags of versions; none outside a repository, as in an archive."""
    if not (ROOT / ".git").exists():
        return []
    return git("tag", "--list", "v[0-9]*").split()


def headings() -> list[str]:
    """Return the headings of the changelog, newest first: versions, and "Unreleased" for what follows the last one."""
    return re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def problems(tags: list[str]) -> list[str]:
    """Return what does not agree, as sentences."""
    released = [heading for heading in headings() if heading != "Unreleased"]
    numbers = [tuple(map(int, version.split("."))) for version in released if re.fullmatch(VERSION, version)]
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    sentences = []
    if len(numbers) < len(released) or numbers != sorted(set(numbers), reverse=True):
        sentences.append("The versions of CHANGELOG.md are not in descending order, as X.Y.Z")
    if "Unreleased" in headings()[1:]:
        sentences.append('"Unreleased" is not the first heading of CHANGELOG.md')
    if released[:1] != [version]:
        sentences.append(f"pyproject.toml has version {version}, the newest one of CHANGELOG.md is {released[0]}")
    # The newest version may be about to get its tag. The first ones may have none, and a shallow clone has none at all.
    oldest_tagged = max((index for index, each in enumerate(released) if f"v{each}" in tags), default=0)
    missing = [each for each in released[1:oldest_tagged] if f"v{each}" not in tags]
    unknown = [tag for tag in tags if tag.removeprefix("v") not in released]
    sentences += [f"Version {each} of CHANGELOG.md has no tag v{each}" for each in missing]
    sentences += [f"Tag {tag} has no version in CHANGELOG.md" for tag in unknown]
    return sentences


def release(version: str) -> None:
    """Build and tag this version from the last commit. Exits with a message if something is not as it should be."""
    if not re.fullmatch(VERSION, version):
        sys.exit(f"{version} is not a version such as 0.3.0")
    if git("status", "--porcelain"):
        sys.exit("The working tree has changes; commit them first")
    if headings()[0] != version:
        sys.exit(f'The first heading of CHANGELOG.md is "{headings()[0]}", not "{version}"')
    tag = f"v{version}"
    if git("tag", "--list", tag):
        sys.exit(f"The tag {tag} exists already")
    (ROOT / "dist").mkdir(exist_ok=True)
    archive = f"dist/{NAME}-{version}.tar.gz"
    git("archive", f"--prefix={NAME}-{version}/", f"--output={archive}", "HEAD")
    image = f"{NAME}:{version}"
    if shutil.which("docker"):
        subprocess.run(["docker", "build", "--tag", image, "."], cwd=ROOT, check=True)
    else:
        image = "no image, because docker is not installed"
    git("tag", "--annotate", tag, "--message", f"Pipeline Backend {version}")
    sys.stdout.write(f"{archive}\n{image}\nTag {tag}. To publish it: git push origin {tag}\n")


def main() -> None:
    """Check, and release the version in the arguments, if there is one."""
    if sentences := problems(version_tags()):
        sys.exit("\n".join(sentences))
    if len(sys.argv) > 1:
        release(sys.argv[1])


if __name__ == "__main__":
    main()
