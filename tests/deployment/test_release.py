"""`make release`: changelog, version and tags agree before anything is tagged; the files for the host are valid."""

import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

from tests.deployment.files import ROOT
from tests.programs import find_program

CHANGELOG = "# Changelog\n\n## 0.2.0\n\n- Second.\n\n## 0.1.0\n\n- First.\n"
PROJECT = '[project]\nname = "pipeline-backend"\nversion = "0.2.0"\n'


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Create a repository whose newest version has no tag yet."""
    folder = tmp_path / "checkout"
    for name, text in {
        "CHANGELOG.md": CHANGELOG,
        "pyproject.toml": PROJECT,
        ".gitignore": "dist/\n",
        "scripts/release.py": (ROOT / "scripts/release.py").read_text(),
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "init", "--quiet")
    commit(folder)
    git(folder, "tag", "v0.1.0")
    return folder


def environment(folder: Path) -> dict[str, str]:
    """Return variables with git as the only program, and a name for its commits and tags; folder gets a link to it."""
    (folder / "programs").mkdir(exist_ok=True)
    link = folder / "programs/git"
    if not link.is_symlink():
        link.symlink_to(find_program("git"))
    names = {f"GIT_{who}_{what}": "test@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    # The checkout may belong to somebody else.
    safe = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    return {"PATH": str(folder / "programs"), "HOME": str(folder), **names, **safe}


def run(command: list[str], folder: Path, variables: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=60, check=False)


def git(folder: Path, *arguments: str) -> str:
    done = run(["git", *arguments], folder, environment(folder.parent))
    assert done.returncode == 0, done.stderr
    return done.stdout


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "a change")


def release(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the script in a repository, where docker is not installed."""
    command = [sys.executable, "-I", "-S", "scripts/release.py", *arguments]
    return run(command, folder, environment(folder.parent))


def test_this_repository_agrees_with_itself(tmp_path: Path) -> None:
    checked = run([sys.executable, "scripts/release.py"], ROOT, environment(tmp_path))

    assert (checked.returncode, checked.stderr) == (0, "")


def test_a_release_is_an_archive_and_a_tag(checkout: Path) -> None:
    made = release(checkout, "0.2.0")

    assert made.returncode == 0, made.stderr
    assert "no image, because docker is not installed" in made.stdout
    assert git(checkout, "tag", "--list").split() == ["v0.1.0", "v0.2.0"]
    with tarfile.open(checkout / "dist/pipeline-backend-0.2.0.tar.gz") as archive:
        assert "pipeline-backend-0.2.0/CHANGELOG.md" in archive.getnames()
    assert "exists already" in release(checkout, "0.2.0").stderr


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (
            "pyproject.toml",
            "0.2.0",
            "0.3.0",
            "pyproject.toml has version 0.3.0, the newest",
        ),
        ("CHANGELOG.md", "## 0.2.0", "## Unreleased\n\n## 0.2.0", 'The first heading of CHANGELOG.md is "Unreleased"'),
        ("CHANGELOG.md", "## 0.1.0", "## 0.1.5", "Tag v0.1.0 has no version in CHANGELOG.md"),
        ("CHANGELOG.md", "## 0.1.0", "## 0.1.1\n\n## 0.1.0", "Version 0.1.1 of CHANGELOG.md has no tag v0.1.1"),
        ("CHANGELOG.md", "## 0.1.0", "## 0.3.0", "not in descending order"),
        ("CHANGELOG.md", "## 0.1.0", "## Unreleased", '"Unreleased" is not the first heading'),
    ],
)
def test_a_release_is_refused(checkout: Path, file: str, old: str, new: str, message: str) -> None:
    text = (checkout / file).read_text()
    assert old in text
    (checkout / file).write_text(text.replace(old, new))
    commit(checkout)

    refused = release(checkout, "0.2.0")

    assert refused.returncode == 1
    assert message in refused.stderr
    assert git(checkout, "tag", "--list").split() == ["v0.1.0"]


def test_only_a_version_is_released(checkout: Path) -> None:
    (checkout / "CHANGELOG.md").write_text(CHANGELOG.replace("## 0.2.0", "## Unreleased\n\n## 0.2.0"))
    commit(checkout)

    refused = release(checkout, "Unreleased")

    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "Unreleased is not a version such as 0.3.0\n"
    assert git(checkout, "tag", "--list").split() == ["v0.1.0"]


def test_changes_that_are_not_committed_are_not_released(checkout: Path) -> None:
    (checkout / "new.py").write_text("")

    assert "The working tree has changes" in release(checkout, "0.2.0").stderr


@pytest.mark.parametrize(
    ("schema", "file"),
    [("vendor.dependabot", ".github/dependabot.yml"), ("vendor.github-workflows", ".github/workflows/ci.yml")],
)
def test_files_for_the_host_are_valid(schema: str, file: str) -> None:
    checked = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, file],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert checked.returncode == 0, checked.stdout


def test_the_workflow_runs_the_versions_of_python_that_are_supported() -> None:
    workflow = (ROOT / ".github/workflows/ci.yml").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    versions = [line.rpartition(" :: ")[2] for line in project["classifiers"] if "Python :: 3." in line]

    quoted = ", ".join(f'"{version}"' for version in versions)
    assert f"python: [{quoted}]" in workflow
    assert project["requires-python"] == f">={versions[0]}"
    # The same programs in both places.
    programs = re.search(r"--no-install-recommends (.*)", workflow)
    assert programs is not None
    assert programs[1] in (ROOT / ".ci/run").read_text()
    assert f"Python {versions[0]} to {versions[-1]}" in (ROOT / "docs/versions.md").read_text()
