"""python -m pipeline_backend.local run | test [pytest's arguments] | with-servers <command> | clean"""

import sys
from pathlib import Path

from pipeline_backend.local import StartupError, ephemeral, run

ROOT = Path(__file__).resolve().parents[2]


def main(words: list[str]) -> int:
    try:
        match words:
            case ["run"]:
                return run.run(ROOT)
            case ["test", *arguments]:
                return ephemeral.run([sys.executable, "-m", "pytest", *arguments])
            case ["with-servers", *command] if command:
                return ephemeral.run(command)
            case ["clean"]:
                return run.clean(ROOT)
    except StartupError as refusal:
        print(refusal, file=sys.stderr)
        return 1
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
