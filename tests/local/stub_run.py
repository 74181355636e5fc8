"""`make run` with stub processes: python stub_run.py <root> <stubs as JSON>. Tests start it as a process."""

import json
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT))

# Importable only with the project in the path.
from dev.local import MIGRATED, process_group  # noqa: E402
from dev.local.run import Commands, run  # noqa: E402

BASE = """
import http.server, os, signal, subprocess, sys, time

def stop(*_):
    print("stopping", flush=True)
    sys.exit(0)

signal.signal(signal.SIGTERM, stop)
"""
BEHAVIORS = {
    "works": "print('works', flush=True); time.sleep(600)",
    "fails": "time.sleep(0.1); sys.exit(3)",
    "fails on SIGUSR1": """
signal.signal(signal.SIGUSR1, lambda *_: sys.exit(3))
print('ready', flush=True)
time.sleep(600)
""",
    "ignores SIGTERM": "signal.signal(signal.SIGTERM, signal.SIG_IGN); print('works', flush=True); time.sleep(600)",
    "has a child": "subprocess.Popen(['sleep', '600']); print('works', flush=True); time.sleep(600)",
    "serves": """
class Healthy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_): pass

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Healthy).serve_forever()
""",
}
DEMO = """
import json, sys
names = ["admin_url", "admin_email", "admin_password", "organization", "organization_name", "api_key"]
json.dump({name: name for name in names}, open(sys.argv[1], "w"))
"""


def commands(port: int, data: Path) -> Commands:
    """Return the commands that the command line describes; `migrate` may be the source of a program."""
    stubs = {"web": "serves", **json.loads(sys.argv[2])}
    migrate = stubs.pop("migrate", "pass")
    prepare = f"{migrate}\nprint({MIGRATED!r})\n{DEMO}"
    return {
        "prepare": [sys.executable, "-c", prepare, str(data / "demo.json")],
        **{
            name: [sys.executable, "-c", BASE + BEHAVIORS[behavior], str(port), name]
            for name, behavior in stubs.items()
        },
    }


if __name__ == "__main__":
    process_group.STOP_TIMEOUT = 1
    sys.exit(run(Path(sys.argv[1]), commands))
