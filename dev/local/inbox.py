"""The local inbox of `make run`: a webhook receiver that is already subscribed, and the e-mails that were sent.

Only `dev.settings` (`make run`) has it, so that the effect of a first booking can be seen without other tools.
Only clients on this computer reach it, because the e-mails contain links that sign people in.
"""

import email
import email.policy
import json
import re
from collections.abc import Callable, Iterator
from email.message import EmailMessage
from functools import wraps
from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from dev.local import files
from foundation.db.timestamps import isoformat_z, now
from organizations.isolation import bypass_rls
from webhooks.models import Endpoint

PAGE_SIZE = 25
WEBHOOKS = ".data/webhooks.jsonl"  # one a line, the newest last
# Addresses that only this computer can connect from, also as a socket for both IPv6 and IPv4 reports them.
LOOPBACK = re.compile(r"(::ffff:)?127(\.\d+){3}|::1", re.ASCII)
# Django's file backend writes this after each e-mail.
EMAIL_SEPARATOR = b"\n" + b"-" * 79 + b"\n"


def local_only(view: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Return the view with a 404 for everyone who is not connected from a loopback address."""

    @wraps(view)
    def wrapped(request: HttpRequest) -> HttpResponse:
        # Never X-Forwarded-For: any client can send it.
        if not LOOPBACK.fullmatch(request.META.get("REMOTE_ADDR", "")):
            raise Http404
        return view(request)

    return wrapped


# Webhooks are authenticated by their signature, not by a session.
@csrf_exempt
@local_only
@require_POST
def receive(request: HttpRequest) -> HttpResponse:
    """Store a webhook with a valid signature and return 204; otherwise return 401."""
    # The URL doesn't name an organization, so the secrets of all endpoints with this URL are tried.
    with bypass_rls():
        endpoints = Endpoint.unscoped.filter(url=request.build_absolute_uri())
        secrets = [secret for endpoint in endpoints for secret in endpoint.signing_secrets()]
    if not any(has_valid_signature(request, secret) for secret in secrets):
        return HttpResponse(status=401)
    received = {"received_at": isoformat_z(now()), "body": json.loads(request.body)}
    with (settings.ROOT / WEBHOOKS).open("a") as file:
        file.write(json.dumps(received) + "\n")
    return HttpResponse(status=204)


def has_valid_signature(request: HttpRequest, secret: str) -> bool:
    try:
        Webhook(secret).verify(request.body, {name.lower(): value for name, value in request.headers.items()})
    except WebhookVerificationError:
        return False
    return True


@local_only
@require_safe
def show_inbox(request: HttpRequest) -> HttpResponse:
    return render(request, "local/inbox.html", {"webhooks": received_webhooks(), "emails": sent_emails()})


def received_webhooks() -> list[dict[str, str]]:
    lines = (files.read_if_exists(settings.ROOT / WEBHOOKS) or "").splitlines()[-PAGE_SIZE:]
    webhooks = [json.loads(line) for line in reversed(lines)]
    return [{**each, "type": each["body"]["type"], "body": json.dumps(each["body"], indent=2)} for each in webhooks]


def sent_emails() -> list[dict[str, str]]:
    directory = getattr(settings, "EMAIL_FILE_PATH", None)  # other mail backends have no files
    # A file has the e-mails of one mail connection, the oldest first.
    logs = Path(directory).glob("*.log") if directory else []
    newest = sorted(logs, key=lambda log: log.stat().st_mtime, reverse=True)[:PAGE_SIZE]
    return [sent for log in newest for sent in reversed(list(read_emails(log)))][:PAGE_SIZE]


def read_emails(file: Path) -> Iterator[dict[str, str]]:
    """Yield the e-mails in a file of Django's file backend, without attachments."""
    for source in file.read_bytes().split(EMAIL_SEPARATOR):
        message = email.message_from_bytes(source, policy=email.policy.default)
        text = message.get_body(("plain",)) if isinstance(message, EmailMessage) else None
        if text:
            yield {"subject": str(message["subject"]), "to": str(message["to"]), "text": text.get_content()}
