"""What `make run` prints once the application answers."""

import datetime
import json
import secrets
from pathlib import Path
from urllib.parse import urlsplit

from pipeline_backend.local import StartupError, files

BLOCK = """
{line}
  Pipeline Backend runs at {base_url}

  API docs      {base_url}/api/docs
  Admin         {admin_url}
                {admin_email}  {admin_password}
  Organization  {organization_name}, {organization}
  API key       {api_key}
  Inbox         {base_url}/local/  (the webhooks and e-mails that were sent)
  E-mails       {mail}

  Book an appointment:

{booking}

  Paste it again: 200 with is_duplicate. Change the time and paste it: 409.

  List one:

{listing}

  Ctrl-C stops everything; the data stays in {data}
{line}
"""


def render_banner(base_url: str, data: Path) -> str:
    """The addresses, the demo's key and password, and two commands that work when pasted."""
    facts = json.loads(files.kept(data / "demo.json") or "{}")
    try:
        return BLOCK.format(
            **{**facts, "base_url": base_url, "admin_url": base_url + urlsplit(facts["admin_url"]).path},
            line="-" * 78,
            mail=data / "mail",
            data=data,
            booking=booking(base_url, facts["api_key"], datetime.datetime.now(datetime.UTC).date()),
            listing=f"curl '{base_url}/api/external/appointments?limit=1' -H 'x-api-key: {facts['api_key']}'",
        )
    except KeyError as missing:
        raise StartupError(f"The demo left no {missing} in {data / 'demo.json'}") from None


def booking(base_url: str, api_key: str, today: datetime.date) -> str:
    """A curl command that books a call for Tuesday of next week."""
    tuesday = today + datetime.timedelta(days=8 - today.weekday())
    body = {
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
