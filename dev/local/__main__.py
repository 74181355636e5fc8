"""Usage: python -m dev.local run | test [arguments of pytest] | with-servers <command> | clean."""

import sys
from pathlib import Path

from dev.local import StartupError, ephemeral, run

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str]) -> int:
    try:
        match arguments:
            case ["run"]:
                return run.run(ROOT)
            case ["test", *pytest_arguments]:
                return ephemeral.run([sys.executable, "-m", "pytest", *pytest_arguments], migrated=ROOT)
            case ["with-servers", *command] if command:
                return ephemeral.run(command)
            case ["clean"]:
                return run.clean(ROOT)
    except StartupError as error:
        print(error, file=sys.stderr)
        return 1
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
