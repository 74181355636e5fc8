"""Reads Dockerfile and docker-compose.yml, and runs their steps without a container engine."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Step:
    """An instruction of the Dockerfile: the number of its stage, its name, and its arguments in one line."""

    stage: int
    name: str
    arguments: str

    def command(self) -> list[str]:
        """Return the command of CMD, or of HEALTHCHECK after its options."""
        parsed: list[str] = json.loads(self.arguments[self.arguments.index("[") :])
        return parsed


def dockerfile() -> list[Step]:
    """Return the instructions of the Dockerfile, without comments."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if line and not line.startswith("#")]
    steps: list[Step] = []
    stage = -1
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        name, _, arguments = line.strip().partition(" ")
        stage += name == "FROM"
        steps.append(Step(stage, name, " ".join(arguments.split())))
    return steps


def copy_build_context(target: Path) -> None:
    """Copy what `COPY . .` copies: the checkout without the files that .dockerignore names.

    Apart from it the compiled modules are copied, which each process would otherwise compile again.
    """
    patterns = (ROOT / ".dockerignore").read_text().split()

    def ignored(directory: str, names: list[str]) -> set[str]:
        unfinished = [name for name in names if ".pyc." in name]  # another process is writing it
        top = [name for name in names if any(fnmatch(name, pattern) for pattern in patterns)]
        return {*unfinished, *(top if Path(directory) == ROOT else [])}

    shutil.copytree(ROOT, target, ignore=ignored, symlinks=True)


def write_env(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the script that writes .env, in a folder with the files that it needs."""
    for name in (".env.example", "deploy/server.env.example", "docker-compose.build.yml", "scripts/write_env.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    # -I and -S: no installed packages, as on a new server.
    command = [sys.executable, "-I", "-S", "scripts/write_env.py", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def new_env(folder: Path, *arguments: str) -> dict[str, str]:
    """Write .env in a folder, and return its variables."""
    assert write_env(folder, *arguments).returncode == 0
    return read_env(folder / ".env")


def read_env(path: Path) -> dict[str, str]:
    """Return the variables of an .env file."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def compose(variables: dict[str, str]) -> dict[str, Any]:
    """Return docker-compose.yml with the variables filled in. Raises KeyError for one that is missing or empty."""

    def value(match: re.Match[str]) -> str:
        name, default = match.groups()
        if not variables.get(name) and default is None:
            raise KeyError(name)
        return variables.get(name) or default

    text = (ROOT / "docker-compose.yml").read_text()
    parsed: dict[str, Any] = yaml.safe_load(re.sub(r"\$\{(\w+):(?:\?[^}]*|-([^}]*))\}", value, text))
    return parsed
