"""The local run's inbox: a webhook receiver that is subscribed already, and the mails that were sent.

It exists only where LOCAL_RUN is on, so that the first booking is seen to arrive without any other tool.
"""

import email
import email.policy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from organizations.isolation import bypass_rls
from pipeline_backend.db.timestamps import isoformat_z, now
from webhooks.models import Endpoint

PAGE_SIZE = 25


def inbox_folder() -> Path:
    """Where received webhooks are kept."""
    folder: Path = settings.ROOT / ".data" / "inbox"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


@csrf_exempt
@require_POST
def receive(request: HttpRequest) -> HttpResponse:
    """Keep a webhook whose signature is right (204); 401 for any other."""
    with bypass_rls():
        secrets = [
            secret
            for endpoint in Endpoint.unscoped.filter(url=request.build_absolute_uri())
            for secret in endpoint.signing_secrets()
        ]
    if not any(is_signed(request, secret) for secret in secrets):
        return HttpResponse(status=401)
    kept = {"id": request.headers["webhook-id"], "received_at": isoformat_z(now()), "body": json.loads(request.body)}
    (inbox_folder() / f"{Path(kept['id']).name}.json").write_text(json.dumps(kept, indent=2))
    return HttpResponse(status=204)


def is_signed(request: HttpRequest, secret: str) -> bool:
    """True if the official client takes the signature."""
    try:
        Webhook(secret).verify(request.body, {name.lower(): value for name, value in request.headers.items()})
    except WebhookVerificationError:
        return False
    return True


@require_safe
def show_inbox(request: HttpRequest) -> HttpResponse:
    """The newest webhooks and mails."""
    return render(request, "local/inbox.html", {"webhooks": list(webhooks()), "mails": list(mails())})


def newest_files(folder: Path, pattern: str) -> list[Path]:
    """The folder's newest files."""
    files = folder.glob(pattern) if folder.is_dir() else []
    return sorted(files, key=lambda file: file.stat().st_mtime, reverse=True)[:PAGE_SIZE]


def webhooks() -> Iterator[dict[str, Any]]:
    """What was received, newest first."""
    for file in newest_files(inbox_folder(), "*.json"):
        kept = json.loads(file.read_text())
        yield {**kept, "type": kept["body"]["type"], "text": json.dumps(kept["body"], indent=2)}


@dataclass(frozen=True)
class Mail:
    """One mail, as the page shows it."""

    subject: str
    to: str
    text: str


def mails() -> Iterator[Mail]:
    """What was mailed, newest first; a file holds the mails of one connection."""
    path = getattr(settings, "EMAIL_FILE_PATH", None)
    folder = Path(path) if path else None
    shown = [
        mail for file in (newest_files(folder, "*.log") if folder else []) for mail in reversed(list(read_mails(file)))
    ]
    yield from shown[:PAGE_SIZE]


def read_mails(file: Path) -> Iterator[Mail]:
    """The mails of one file of Django's file backend, which parts them by a line of dashes."""
    for source in file.read_bytes().split(b"\n" + b"-" * 79 + b"\n"):
        message = email.message_from_bytes(source, policy=email.policy.default)
        text = message.get_body(("plain",)) if isinstance(message, EmailMessage) else None
        if text:
            yield Mail(str(message["subject"]), str(message["to"]), text.get_content())
