"""The list filter by days: in the user's time zone, and with the last day."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.admin import ModelAdmin
from django.contrib.admin.utils import get_fields_from_path
from django.db.models import DateField
from django.test import Client

from leads.models import Lead
from organizations.models import Membership, Organization
from staff.toolkit.lists import DayRangeFilter
from tests.factories import make_api, make_member
from tests.staff.pages import MODEL_ADMINS, admin_url, logged_in_client, shown_messages


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


# The clocks go forward by an hour on 29 March 2026 in Berlin, back by half an hour on 5 April 2026 on Lord Howe Island,
# and forward at midnight on 24 April 2026 in Cairo. The first and last moment of each of these days, in UTC:
@pytest.mark.parametrize(
    ("time_zone", "day", "first", "last"),
    [
        ("Europe/Berlin", "2026-03-29", "2026-03-28T23:00", "2026-03-29T21:59:59.999"),
        ("Australia/Lord_Howe", "2026-04-05", "2026-04-04T13:00", "2026-04-05T13:29:59.999"),
        ("Africa/Cairo", "2026-04-24", "2026-04-23T22:00", "2026-04-24T20:59:59.999"),
    ],
)
def test_a_day_on_which_the_clocks_change_is_a_whole_day(
    time_zone: str, day: str, first: str, last: str, lead: Lead, organization: Organization
):
    client = logged_in_client(make_member(organization, "berta@acme.example", time_zone=time_zone))
    moments = [datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (first, last)]
    outside = [moments[0] - timedelta(milliseconds=1), moments[1] + timedelta(milliseconds=1)]

    found = []
    for moment in (*moments, *outside):
        Lead.objects.of(organization).update(created_at=moment)
        found.append(listed(client, day, day))

    assert found == [[lead], [lead], [], []]


def test_a_range_that_ends_before_it_begins_is_empty(lead: Lead, host: Membership):
    assert listed(logged_in_client(host), "2026-03-10", "2026-03-08") == []


@pytest.mark.parametrize("model_admin", MODEL_ADMINS, ids=lambda model_admin: model_admin.opts.label)
def test_every_filter_by_date_counts_whole_days(model_admin: ModelAdmin):
    filters = [entry if isinstance(entry, tuple) else (entry, None) for entry in model_admin.list_filter]
    by_date = [kind for name, kind in filters if is_date(model_admin, name)]

    assert [kind for kind in by_date if kind is not DayRangeFilter] == []
    assert model_admin.date_hierarchy is None


def is_date(model_admin: ModelAdmin, name: object) -> bool:
    """Return whether the filter's field is a date or a timestamp. Filters that are classes of ours have no field."""
    return isinstance(name, str) and isinstance(get_fields_from_path(model_admin.model, name)[-1], DateField)


def test_days_are_typed_as_in_forms(lead: Lead, host: Membership):
    client = logged_in_client(host)

    assert [listed(client, day, day) for day in ("09.03.2026", "9 Mar 2026", " 2026-03-09 ")] == [[lead]] * 3


@pytest.mark.parametrize("day", ["today", "2026-02-30", "0001-01-01", "99999999999-01-01", "03/04/2026"])
def test_a_day_that_cannot_be_read_is_left_out_with_a_message(day: str, lead: Lead, host: Membership):
    client = logged_in_client(host)

    response = client.get(admin_url(Lead, "changelist"), {"created_at_to": day})

    assert (response.status_code, response.url) == (302, "/admin/leads/lead/?created_at_to=")
    assert f"You typed “{day}”." in shown_messages(response)[0]
