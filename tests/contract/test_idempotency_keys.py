"""The header Idempotency-Key (docs/interface.md, G57 to G60)."""

from datetime import timedelta
from threading import Thread

import pytest
from django.db import IntegrityError, connections, transaction

from appointments.models import Appointment
from foundation.db.timestamps import now
from leads.privacy.erasing import request_erasure
from optins.models import OptIn
from organizations.models import StoredResponse
from pipeline_backend.tasks import prune_organizations
from tests.client import ApiClient, booking_payload, opt_in_payload
from tests.contract.assertions import assert_error_format, assert_invalid_fields
from tests.contract.concurrency import run_concurrently, status_codes
from tests.factories import make_api, owner_actor, snapshot_of

SUBMIT, BOOK = "/api/opt-in/submit", "/api/external/appointments"
REPLAYED = "Idempotent-Replayed"
DAY = timedelta(days=1)


def submit(api, key="key-1", **fields):
    return api.post(SUBMIT, opt_in_payload(**fields), idempotency_key=key)


def test_a_repeat_gets_the_stored_response_and_does_nothing(api, organization):
    """docs/interface.md, G57"""
    body = opt_in_payload()
    first = api.post(SUBMIT, body, idempotency_key="key-1", prefer="return=representation")
    before = snapshot_of(organization)

    again = api.post(SUBMIT, body, idempotency_key="key-1")

    assert (first.status_code, again.status_code, again.content) == (201, 201, first.content)
    assert (REPLAYED in first.headers, again.headers[REPLAYED]) == (False, "true")
    assert again.headers["Preference-Applied"] == "return=representation"
    assert again.headers["Content-Type"] == first.headers["Content-Type"]
    assert "RateLimit" in again.headers
    assert snapshot_of(organization) == before


def test_an_update_is_replayed_with_its_object_even_after_a_change(api):
    """docs/interface.md, G57"""
    id = api.book().json()["data"]["id"]
    path, body = f"{BOOK}/{id}", {"meeting_url": "https://meet.example/1"}
    first = api.patch(path, body, idempotency_key="key-1")
    api.patch(path, {"meeting_url": None})

    again = api.patch(path, body, idempotency_key="key-1")

    assert (again.status_code, again.content, again.headers[REPLAYED]) == (200, first.content, "true")
    assert api.get_appointment(id)["meeting_url"] is None


def test_another_body_path_or_method_is_422_and_does_nothing(api, organization):
    """docs/interface.md, G58"""
    submit(api)
    id = api.book().json()["data"]["id"]
    before = snapshot_of(organization)

    responses = [
        submit(api, email="b@example.com"),
        api.post(f"{BOOK}/cancel", {"external_reference": "ref-1"}, idempotency_key="key-1"),
        api.patch(f"{BOOK}/{id}", opt_in_payload(), idempotency_key="key-1"),
    ]

    for response in responses:
        assert_error_format(response, 422)
        assert "Idempotency-Key" in response.json()["message"]
    assert snapshot_of(organization) == before


def test_final_errors_are_stored_and_their_work_is_undone(api, organization):
    """docs/interface.md, G59"""
    before = snapshot_of(organization)
    refused = api.post(BOOK, booking_payload(host_email="nobody@example.com"), idempotency_key="key-1")
    unknown = api.post(f"{BOOK}/cancel", {"external_reference": "ref-2"}, idempotency_key="key-2")
    assert [row for row in snapshot_of(organization) if row[0] != "StoredResponse"] == before
    api.book(external_reference="ref-2")

    again = api.post(BOOK, booking_payload(host_email="nobody@example.com"), idempotency_key="key-1")
    canceled = api.post(f"{BOOK}/cancel", {"external_reference": "ref-2"}, idempotency_key="key-2")

    assert (refused.status_code, again.content, again.headers[REPLAYED]) == (400, refused.content, "true")
    assert (unknown.status_code, canceled.status_code, canceled.content) == (404, 404, unknown.content)


def test_errors_before_the_work_are_not_stored(api, organization):
    """docs/interface.md, G59"""
    organization.rate_limit_per_minute = 1
    organization.save()
    api.get("/api/external/me")
    assert submit(api).status_code == 429
    assert submit(make_api(organization, scopes=["read"])).status_code in (403, 429)
    organization.rate_limit_per_minute = 1_000
    organization.save()

    assert not StoredResponse.objects.of(organization).exists()


def test_a_failure_undoes_the_work_and_the_key_is_free(api, organization, monkeypatch):
    """docs/interface.md, G59"""
    before = snapshot_of(organization)
    with monkeypatch.context() as patch:
        patch.setattr("foundation.api.responses.JsonRenderer.render", lambda *_: 1 / 0)
        failed = ApiClient(api.key).client.post(
            SUBMIT,
            opt_in_payload(),
            "application/json",
            headers={"x-api-key": api.key, "idempotency-key": "key-1"},
        )
    assert failed.status_code == 500
    assert snapshot_of(organization) == before

    assert submit(api).status_code == 201
    assert OptIn.objects.of(organization).count() == 1


def test_a_known_reference_decides_before_the_key(api):
    """docs/interface.md, G60"""
    first = api.post(BOOK, booking_payload(), idempotency_key="key-1")
    submit(api, key="key-2", external_reference="form-1")

    repeats = [
        api.post(BOOK, booking_payload(), idempotency_key="key-1"),
        api.post(BOOK, booking_payload(notes="Other"), idempotency_key="key-1"),
        api.post(BOOK, booking_payload(), idempotency_key="key-3"),
    ]

    for repeat in repeats:
        assert (repeat.status_code, repeat.json()["data"]["is_duplicate"], REPLAYED in repeat.headers) == (
            200,
            True,
            False,
        )
        assert repeat.json()["data"]["id"] == first.json()["data"]["id"]
    assert submit(api, key="key-2", external_reference="form-1", first_name="Other").status_code == 200
    assert_error_format(api.post(BOOK, booking_payload(external_reference="ref-2"), idempotency_key="key-1"), 422)


@pytest.mark.parametrize("key", ["", "a" * 256, "a\tb", "é"])
def test_another_form_of_key_is_400_and_does_nothing(api, organization, key):
    """docs/interface.md, G57"""
    response = submit(api, key=key)

    assert_invalid_fields(response, "Idempotency-Key")
    assert not OptIn.objects.of(organization).exists()


def test_reads_ignore_it_and_the_longest_one_is_accepted(api):
    assert api.get("/api/external/me", idempotency_key="").status_code == 200
    assert submit(api, key="~ " * 127 + "a").status_code == 201


def test_each_api_key_and_organization_has_its_own(api, organization, other_organization):
    """docs/interface.md, G58"""
    submit(api)

    others = [submit(make_api(organization)), submit(make_api(other_organization))]

    assert [REPLAYED in response.headers for response in others] == [False, False]
    assert OptIn.objects.of(organization).count() == 2
    assert not StoredResponse.objects.of(organization).filter(body__contains="Ada").exists()


@pytest.mark.parametrize("age", [DAY + timedelta(minutes=1), DAY - timedelta(minutes=1)])
def test_it_is_kept_for_a_day(api, organization, age):
    """docs/interface.md, G57"""
    submit(api)
    StoredResponse.objects.of(organization).update(created_at=now() - age)

    assert (REPLAYED in submit(api).headers) == (age < DAY)

    StoredResponse.objects.of(organization).update(created_at=now() - age)
    prune_organizations()
    assert StoredResponse.objects.of(organization).exists() == (age < DAY)


def test_erasing_a_lead_empties_the_responses_that_name_it_and_keeps_the_key(api, organization):
    """docs/interface.md, G60"""
    lead_id = submit(api, email="ada@example.com").json()["data"]["lead_id"]
    submit(api, key="key-2", email="b@example.com")
    id = api.book(lead_email="ada@example.com").json()["data"]["id"]
    api.post(f"{BOOK}/{id}/notes", {"note": "Ada is ill"}, idempotency_key="key-3")
    request_erasure(organization=organization, actor=owner_actor(organization), lead_id=lead_id)

    erased, other = submit(api, email="ada@example.com"), submit(api, key="key-2", email="b@example.com")

    assert_error_format(erased, 409)
    assert other.headers[REPLAYED] == "true"
    assert OptIn.objects.of(organization).count() == 2


@pytest.mark.django_db(transaction=True)
def test_while_a_request_lasts_another_with_its_key_is_409(api, organization):
    """docs/interface.md, G58"""
    results = []

    def send():
        results.append(submit(ApiClient(api.key)))
        connections.close_all()

    api.get("/api/external/me")  # stores when the key was used, which the other request would wait for
    with transaction.atomic():
        submit(api)
        thread = Thread(target=send)
        thread.start()
        thread.join(timeout=30)

    assert_error_format(results[0], 409)
    assert int(results[0].headers["Retry-After"]) > 0
    assert submit(api).headers[REPLAYED] == "true"
    assert OptIn.objects.of(organization).count() == 1


@pytest.mark.django_db(transaction=True)
def test_many_requests_with_one_key_are_done_once(api, organization):
    """docs/interface.md, G58"""
    responses = run_concurrently(api.key, *[submit] * 16)

    assert set(status_codes(responses)) <= {201, 409}
    assert OptIn.objects.of(organization).count() == 1
    assert len({response.content for response in responses if response.status_code == 201}) == 1


@pytest.mark.django_db(transaction=True)
def test_a_commit_that_fails_once_is_tried_again(api, organization, monkeypatch):
    """A foreign key is checked at the commit, which with this header is that of the whole request."""
    commits = []
    commit = connections["default"].commit

    def fail_once():
        commits.append(1)
        if len(commits) == 1:
            connections["default"].rollback()
            raise IntegrityError("a row that the transaction refers to is gone")
        commit()

    monkeypatch.setattr(connections["default"], "commit", fail_once)

    assert api.post(BOOK, booking_payload(), idempotency_key="key-1").status_code == 201
    assert Appointment.objects.of(organization).count() == 1


def test_a_repeat_rotates_no_secret_again_and_does_not_show_it(api):
    """docs/interface.md, G60: the signing secret is in no stored response."""
    path, body = "/api/external/webhook-endpoints", {"url": "https://hooks.example.com/in"}
    created = api.post(path, body, idempotency_key="key-1").json()["data"]
    rotate = f"{path}/{created['id']}/rotate-secret"
    rotated = api.post(rotate, {}, idempotency_key="key-2").json()["data"]

    again = [api.post(path, body, idempotency_key="key-1"), api.post(rotate, {}, idempotency_key="key-2")]

    assert [response.json()["data"] for response in again] == [created | {"secret": None}, rotated | {"secret": None}]
    assert not StoredResponse.unscoped.filter(body__contains="whsec_").exists()
