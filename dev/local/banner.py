"""The text that `make run` prints once the application answers."""

import datetime
import json
import secrets
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from dev.local import StartupError, as_root, files
from dev.local.embedded import Postgres, Server

BANNER = """
{rule}
  Pipeline Backend is running at {base_url}

  API docs      {base_url}/api/docs
  Admin         {admin_url}
                {admin_email}  {admin_password}
  Organization  {organization_name}, {organization}
  API key       {api_key}
  Inbox         {base_url}/local/  (received webhooks and sent e-mails)
  E-mails       {mail_dir}

  Book an appointment:

{booking_command}

  Run it again: 200 with is_duplicate. Change the time and run it again: 409.

  List appointments:

{list_command}

  Manage it from another terminal:

.venv/bin/python manage.py doctor

  Ctrl-C stops everything; the data stays in {data_places}
{rule}
"""


def render_banner(base_url: str, data: Path, servers: Sequence[Server]) -> str:
    """Return the URLs, the demo's credentials, two commands to paste, and where the data of the servers is.

    Raises StartupError if the demo's file lacks any of them.
    """
    demo = json.loads(files.read_if_exists(data / "demo.json") or "{}")
    today = datetime.datetime.now(datetime.UTC).date()
    try:
        return BANNER.format(
            **{
                **demo,
                "base_url": base_url,
                # The file may have been written by a run on another port.
                "admin_url": base_url + urlsplit(demo["admin_url"]).path,
            },
            rule="-" * 78,
            mail_dir=data / "mail",
            data_places=data_places(data, servers),
            booking_command=booking_command(base_url, demo["api_key"], today),
            list_command=f"curl '{base_url}/api/external/appointments?limit=1' -H 'x-api-key: {demo['api_key']}'",
        )
    except KeyError as missing:
        raise StartupError(f"{data / 'demo.json'} lacks {missing}; run make clean, then make run") from None


def data_places(data: Path, servers: Sequence[Server]) -> str:
    """Return the directory of the data, and PostgreSQL's if that is elsewhere."""
    elsewhere = [server for server in servers if isinstance(server, Postgres) and server.is_root]
    return f"{data}" + "".join(f",\n  {server.name}'s in {server.data_dir} ({as_root.REASON})" for server in elsewhere)


def booking_command(base_url: str, api_key: str, today: datetime.date) -> str:
    """Return a curl command that books an appointment for Tuesday of next week."""
    tuesday = today + datetime.timedelta(days=8 - today.weekday())
    body = {
        # A new reference for each run: the database still has the appointments of earlier ones.
        "external_reference": f"demo-{secrets.token_hex(4)}",
        "schedule_time": f"{tuesday}T15:00:00.000Z",
        "lead_email": "ada@example.com",
        "lead_first_name": "Ada",
        "event_type_name": "Strategy call",
    }
    lines = [
        f"curl -i '{base_url}/api/external/appointments'",
        f"-H 'x-api-key: {api_key}' -H 'content-type: application/json'",
        f"-d '{json.dumps(body)}'",
    ]
    return " \\\n  ".join(lines)
