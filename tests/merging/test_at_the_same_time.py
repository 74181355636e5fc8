"""Merges at the same time as bookings, opt-ins, status changes and other merges (docs/interface.md, L22 and L25)."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from foundation.api.exceptions import Conflict
from leads.models import Lead, LeadMerge
from optins.models import OptIn
from organizations.models import Organization
from tests.client import ApiClient
from tests.contract.concurrency import THREADS, run_concurrently, status_codes
from tests.factories import summary_of
from tests.merging.leads import make_lead, merge, undo

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = 6
EMAILS = ("ada@example.com", "ada@work.example")


def attempt(call: Callable[[], Any]) -> Exception | None:
    """Call a service; return the Conflict that it raises, if any."""
    try:
        call()
    except Conflict as error:
        return error
    return None


def merging(organization: Organization, *leads: UUID) -> Callable[[Any], Any]:
    """Return a request that merges the second lead into the first one, and returns the Conflict, if any."""
    return lambda _: attempt(lambda: merge(organization, *leads))


def writes_about(emails: list[str], lead_id: UUID, status_id: str) -> list[Callable[[ApiClient], Any]]:
    """Return opt-ins and bookings with each e-mail, and a booking and a status change with the lead's id."""
    submits = [lambda api, email=email: api.submit(email=email) for email in emails * 3]
    books = [
        lambda api, number=number, email=email: api.book(lead_email=email, external_reference=f"{email}-{number}")
        for number in range(2)
        for email in emails
    ]
    by_id: list[Callable[[ApiClient], Any]] = [
        lambda api: api.book(lead_id=str(lead_id), lead_email=..., external_reference=str(lead_id)),
        lambda api: api.patch(f"/api/external/leads/{lead_id}/status", {"status_id": status_id}),
    ]
    return [*submits, *books, *by_id]


def test_what_is_written_during_a_merge_belongs_to_the_kept_lead(api: ApiClient, organization: Organization) -> None:
    status_id = api.get_status("FOLLOW_UP")["id"]
    for number in range(ROUNDS):
        emails = [f"{number}-{email}" for email in EMAILS]
        keep, other = (make_lead(api, email) for email in emails)
        writes = writes_about(emails, other, status_id)

        results = run_concurrently(api.key, *writes[:6], merging(organization, keep, other), *writes[6:])

        responses = [result for result in results if result is not None]
        assert set(status_codes(responses)) <= {200, 201}, [response.content for response in responses]
        assert len(responses) == len(writes)
        assert api.get_lead(str(keep))["previous_ids"] == [str(other)]
        assert Lead.objects.of(organization).count() == number + 1
        assert OptIn.objects.of(organization).filter(lead=keep).count() == 2 + 6
        assert len(api.get_data("/api/external/appointments", {"lead_id": str(keep)})) == 5


def test_a_booking_with_the_email_of_a_lead_that_is_gone_while_it_waits_creates_no_lead(
    api: ApiClient, organization: Organization
) -> None:
    """The insert has begun when the merged lead's row is still there, and goes on when it is gone."""
    keep, other = (make_lead(api, email) for email in EMAILS)
    bookings = [
        lambda api, number=number: api.book(lead_email="ADA@Work.example", external_reference=f"ref-{number}")
        for number in range(THREADS - 1)
    ]

    results = run_concurrently(api.key, merging(organization, keep, other), *bookings)

    assert status_codes(results[1:]) == {201: THREADS - 1}
    assert summary_of(organization)["events"].count("lead.created") == 2
    assert list(Lead.objects.of(organization).values_list("pk", flat=True)) == [keep]


def test_of_merges_of_the_same_leads_at_the_same_time_one_wins(api: ApiClient, organization: Organization) -> None:
    for number in range(ROUNDS):
        first, second = (make_lead(api, f"{number}-{email}") for email in EMAILS)
        pairs = [(first, second), (second, first)] * (THREADS // 2)

        results = run_concurrently(None, *[merging(organization, *pair) for pair in pairs])

        assert results.count(None) == 1
        assert LeadMerge.objects.of(organization).count() == number + 1
        assert api.get_lead(str(first)) == api.get_lead(str(second))


def test_merges_of_a_chain_at_the_same_time_lead_to_one_lead(api: ApiClient, organization: Organization) -> None:
    for number in range(ROUNDS):
        ids = [make_lead(api, f"{number}-{name}@example.com") for name in "abcd"]
        pairs = [(ids[1], ids[0]), (ids[2], ids[1]), (ids[3], ids[2])]
        submits = [lambda api, email=f"{number}-{name}@example.com": api.submit(email=email) for name in "abcd" * 2]

        results = run_concurrently(api.key, *[merging(organization, *pair) for pair in pairs], *submits)

        responses = [result for result in results if hasattr(result, "status_code")]
        assert status_codes(responses) == {200: len(submits)}
        refused = [error for error in results if isinstance(error, Conflict)]
        # A merge that comes after its lead has been merged is refused; each of the others has removed one lead.
        assert Lead.objects.of(organization).filter(email__startswith=f"{number}-").count() == 1 + len(refused)
        assert all(UUID(api.get_lead(str(id))["id"]) for id in ids)


def test_an_undo_at_the_same_time_as_bookings_loses_none(api: ApiClient, organization: Organization) -> None:
    for number in range(ROUNDS):
        emails = [f"{number}-{email}" for email in EMAILS]
        keep, other = (make_lead(api, email) for email in emails)
        merge(organization, keep, other)
        submits = [lambda api, email=email: api.submit(email=email) for email in emails * 3]

        results = run_concurrently(
            api.key, *submits[:3], lambda _, id=other: attempt(lambda: undo(organization, id)), *submits[3:]
        )

        responses = [result for result in results if hasattr(result, "status_code")]
        assert status_codes(responses) == {200: len(submits)}
        assert OptIn.objects.of(organization).filter(lead__in=[keep, other]).count() == 2 + len(submits)
