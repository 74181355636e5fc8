"""The text that `make run` prints once the application answers."""

import datetime
import json
import secrets
from collections.abc import Sequence
from pathlib import Path

from dev.local.server import Server

BANNER = """
------------------------------------------------------------------------------
  Pipeline Backend is running at {base_url}

  API docs      {base_url}/api/docs
  Guides        {base_url}/api/docs/
  Admin         {admin_url}
                {admin_email}  {admin_password}
  Organization  {organization_name}, {organization}
  API key       {api_key}
  Inbox         {base_url}/local/  (received webhooks and sent e-mails)
  E-mails       {data}/mail

  Book an appointment:

curl -i '{base_url}/api/external/appointments' \\
  -H 'x-api-key: {api_key}' -H 'content-type: application/json' \\
  -d '{booking}'

  Run it again: 200 with is_duplicate. Change the time and run it again: 409.

  List appointments:

curl '{base_url}/api/external/appointments?limit=1' -H 'x-api-key: {api_key}'

  Manage it from another terminal:

.venv/bin/python manage.py doctor

  Ctrl-C stops everything; the data stays in {places}
------------------------------------------------------------------------------
"""


def render_banner(base_url: str, data: Path, servers: Sequence[Server]) -> str:
    """Return the URLs, the demo's credentials, two commands to paste, and where the data of the servers is."""
    demo = json.loads((data / "demo.json").read_text())
    today = datetime.datetime.now(datetime.UTC).date()
    booking = {
        # A new reference for each run: the database still has the appointments of earlier ones.
        "external_reference": f"demo-{secrets.token_hex(4)}",
        "schedule_time": f"{today + datetime.timedelta(days=8 - today.weekday())}T15:00:00.000Z",  # next week's Tuesday
        "lead_email": "ada@example.com",
        "lead_first_name": "Ada",
        "event_type_name": "Strategy call",
    }
    elsewhere = [server for server in servers if server.data_dir != server.directory]
    places = [f"  {server.name}'s in {server.data_dir} (it refuses to run as root)" for server in elsewhere]
    values = {"data": data, "booking": json.dumps(booking), "places": ",\n".join([str(data), *places])}
    return BANNER.format_map({**demo, **values, "base_url": base_url})
