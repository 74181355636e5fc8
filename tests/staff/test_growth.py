"""The operators' page of what grows (docs/operate.md, "What grows")."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from organizations.models import MemberRole, Organization, User
from staff import growth
from tests.client import ApiClient
from tests.factories import make_member
from tests.staff.pages import logged_in_client

URL = "/admin/growth/"


@pytest.fixture
def operator(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("operator@example.com"))
    return client


def table(response: Any, name: str) -> growth.Table:
    [found] = [table for group in response.context["groups"] for table in group.tables if table.name == name]
    return found


def test_it_shows_each_table_with_its_new_rows_and_the_setting_that_bounds_it(
    operator: Client, api: ApiClient, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.KEEP_EVENTS_DAYS = 1234
    for number in range(14):
        api.submit(email=f"lead{number}@leads.example")

    with CaptureQueriesContext(connection) as queries:
        response = operator.get(URL)
    monkeypatch.setattr(growth, "MAX_COUNTED", 10)
    many = table(operator.get(URL), "leads_lead")

    groups = {group.name: [table.name for table in group.tables] for group in response.context["groups"]}
    text = " ".join(response.content.decode().split())
    assert table(response, "leads_lead").rows_a_day == 14 / growth.DAYS
    # They came at once, and are all that is known, besides rows of earlier tests in PostgreSQL's statistics.
    assert many.rows_a_day == max(many.rows, 10) / growth.DAYS
    assert table(response, "webhooks_event").size > table(response, "webhooks_event").index_size > 0
    assert groups["events"] == ["webhooks_event"]
    assert groups["Others"] == ["django_migrations"]  # docs/operate.md has all others
    assert "Deleted: after KEEP_EVENTS_DAYS (1,234) with their deliveries, by default never" in text
    assert [sql for sql in (query["sql"] for query in queries) if "count(" in sql and "LIMIT" not in sql] == []


def test_a_redis_that_does_not_answer_is_said_and_old_rows_do_not_count(
    operator: Client, api: ApiClient, settings: Any
) -> None:
    known = operator.get(URL).context["redis"]["used_memory"]
    api.submit()
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    with time_machine.travel(timezone.now() + timedelta(days=8)):
        operator.force_login(User.objects.get(email="operator@example.com"))
        response = operator.get(URL)

    assert known > 0
    assert "It does not answer." in response.content.decode()
    assert table(response, "leads_lead").rows_a_day == 0


@pytest.mark.parametrize("role", MemberRole.values)
def test_members_neither_see_it_nor_its_link(organization: Organization, role: str) -> None:
    client = logged_in_client(make_member(organization, "member@acme.example", role=role))

    response = client.get(URL)

    assert response.status_code == 403
    assert URL not in client.get("/admin/account/sessions/").content.decode()
