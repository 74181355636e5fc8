"""A run whose parts are stand-ins: python standin.py <root> <parts as JSON>. Started by the tests as a process."""

import json
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT))

from pipeline_backend.local import process_group  # noqa: E402 - only now it is found
from pipeline_backend.local.run import Plan, run  # noqa: E402 - the same

BASE = """
import http.server, os, signal, subprocess, sys, time

def end(*_):
    print("says goodbye", flush=True)
    sys.exit(0)

signal.signal(signal.SIGTERM, end)
"""
BEHAVIOURS = {
    "works": "print('works', flush=True); time.sleep(600)",
    "fails": "time.sleep(0.1); sys.exit(3)",
    "fails when told": "signal.signal(signal.SIGUSR1, lambda *_: sys.exit(3)); print('listening', flush=True); time.sleep(600)",
    "is deaf": "signal.signal(signal.SIGTERM, signal.SIG_IGN); print('works', flush=True); time.sleep(600)",
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
facts = {name: name for name in names}
json.dump(facts, open(sys.argv[1], "w"))
"""


def plan(port: int, data: Path) -> Plan:
    chosen = {"web": "serves", **json.loads(sys.argv[2])}
    migrate = chosen.pop("migrate", "pass")
    return Plan(
        migrate=[sys.executable, "-c", migrate],
        demo=[sys.executable, "-c", DEMO, str(data / "demo.json")],
        parts={name: [sys.executable, "-c", BASE + BEHAVIOURS[how], str(port)] for name, how in chosen.items()},
    )


if __name__ == "__main__":
    process_group.PATIENCE = process_group.LEFTOVER_PATIENCE = 1
    sys.exit(run(Path(sys.argv[1]), plan))
