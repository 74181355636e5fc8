"""Usage: [PORT=8000] python -m dev.local run | test [arguments of pytest] | with-servers <command> | clean."""

import sys
from pathlib import Path

from dev.local import StartupError, ephemeral

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str]) -> int:
    try:
        match arguments:
            case ["test", *pytest_arguments]:
                return ephemeral.run([sys.executable, "-m", "pytest", *pytest_arguments], migrated=ROOT)
            case ["with-servers", *command] if command:
                return ephemeral.run(command)
            case ["run" | "clean"]:
                from dev.local import run  # noqa: PLC0415 - slow, and not needed for tests

                return run.run(ROOT) if arguments == ["run"] else run.clean(ROOT)
    except StartupError as error:
        print(error, file=sys.stderr)
        return 1
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
