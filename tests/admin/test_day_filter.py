"""The list filter by days: in the user's time zone, and with the last day."""

from datetime import UTC, datetime

import pytest
from django.test import Client

from leads.models import Lead
from organizations.models import Membership, Organization
from tests.admin.pages import admin_url, logged_in_client
from tests.factories import make_api, make_member


@pytest.fixture
def lead(organization: Organization, other_organization: Organization) -> Lead:
    """A lead of Acme, created at 23:30 UTC on 9 March; Globex has one of the same moment."""
    for owner in (organization, other_organization):
        make_api(owner).submit(email="ada@example.com")
        Lead.objects.of(owner).update(created_at=datetime(2026, 3, 9, 23, 30, tzinfo=UTC))
    return Lead.objects.of(organization).get()


def listed(client: Client, first: str, last: str) -> list[Lead]:
    """Return the leads that the list shows for these days."""
    url = admin_url(Lead, "changelist")
    response = client.get(url, {"created_at_from": first, "created_at_to": last})
    return list(response.context["cl"].result_list)


def test_a_range_of_days_includes_the_last_day(lead: Lead, host: Membership):
    client = logged_in_client(host)

    found = [listed(client, *days) for days in (("2026-03-09", "2026-03-09"), ("2026-03-10", ""), ("", "2026-03-08"))]

    assert found == [[lead], [], []]


def test_days_are_those_of_the_users_time_zone(lead: Lead, organization: Organization):
    client = logged_in_client(make_member(organization, "berta@acme.example", time_zone="Europe/Berlin"))

    found = [listed(client, day, day) for day in ("2026-03-09", "2026-03-10")]

    assert found == [[], [lead]]


@pytest.mark.parametrize("day", ["today", "2026-02-30", "0001-01-01", "99999999999-01-01"])
def test_an_invalid_day_is_refused(day: str, lead: Lead, host: Membership):
    client = logged_in_client(host)

    response = client.get(admin_url(Lead, "changelist"), {"created_at_to": day})

    assert response.status_code == 400
