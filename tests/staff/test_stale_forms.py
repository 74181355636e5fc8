"""Forms that were open while their person signed in or out, or while someone else changed the row."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from appointments.models import Appointment, EventType, Note
from leads.models import CustomField, Lead, LeadNote
from leads.privacy.models import LeadRetention
from organizations import services
from organizations.models import MemberRole, Membership, Organization, SecurityEvent
from staff.toolkit.actions import ConfirmationForm
from staff.toolkit.base import ServiceAdmin
from staff.toolkit.forms import ServiceForm
from statuses.models import Status
from tests.factories import make_api, make_custom_field, make_event_type, make_member, make_status
from tests.hostile.routes import ADMIN_ROUTES, OTHER_ROUTES, url_template
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, logged_in_client, shown_messages
from webhooks.models import Endpoint
from webhooks.services import add_endpoint

LOGIN = "/admin/login/"
PASSWORD = "secret-of-tests"
OUT_OF_DATE = "This page was out of date"


def open_form(client: Client, path: str = LOGIN) -> str:
    """Open a page, and return the token of its form."""
    return str(client.get(path).context["csrf_token"])


def send_sign_in(client: Client, email: str, token: str, query: str = "") -> Any:
    """Send the form of the sign-in page."""
    form = {"username": email, "password": PASSWORD, "csrfmiddlewaretoken": token}
    return client.post(f"{LOGIN}{query}", form)


@pytest.mark.parametrize(
    ("query", "target"),
    [("", "/admin/"), ("?next=/admin/leads/lead/", "/admin/leads/lead/"), ("?next=//evil.example/", "/admin/")],
)
def test_a_second_sign_in_tab_continues_once_the_person_is_signed_in(query: str, target: str, host: Membership):
    browser = Client(enforce_csrf_checks=True)
    first, second = open_form(browser), open_form(browser)
    send_sign_in(browser, host.user.email, first)
    session = browser.cookies["sessionid"].value

    response = send_sign_in(browser, host.user.email, second, query)

    assert (response.status_code, response.headers["Location"]) == (302, target)
    assert browser.cookies["sessionid"].value == session
    assert "You are already signed in as hana@acme.example" in browser.get("/admin/").content.decode()


def test_a_second_sign_in_tab_asks_again_once_the_person_has_signed_out(host: Membership):
    browser = Client(enforce_csrf_checks=True)
    first, second = open_form(browser), open_form(browser)
    send_sign_in(browser, host.user.email, first)
    browser.post("/admin/logout/", {"csrfmiddlewaretoken": open_form(browser, "/admin/")})
    events = SecurityEvent.objects.count()

    again = send_sign_in(browser, host.user.email, second, "?next=/admin/leads/lead/")
    page = again.content.decode()
    unchanged = SecurityEvent.objects.count()
    then = send_sign_in(browser, host.user.email, str(again.context["csrf_token"]), "?next=/admin/leads/lead/")

    assert (again.status_code, OUT_OF_DATE in page, f'value="{host.user.email}"' in page) == (200, True, True)
    assert PASSWORD not in page
    assert unchanged == events
    assert (then.status_code, then.headers["Location"]) == (302, "/admin/leads/lead/")


@pytest.mark.parametrize("token", ["", "a" * 32, "a" * 64, "nonsense\0"])
def test_no_one_is_signed_in_by_a_form_without_a_valid_token(token: str, host: Membership):
    browser = Client(enforce_csrf_checks=True)
    events = SecurityEvent.objects.count()

    answers = [send_sign_in(browser, host.user.email, token) for _ in range(12)]

    assert {answer.status_code for answer in answers} == {200}
    assert "sessionid" not in browser.cookies
    assert browser.get("/admin/").status_code == 302
    # Not counted either: the form that a stranger's site sends uses up no one's attempts.
    assert SecurityEvent.objects.count() == events
    assert send_sign_in(browser, host.user.email, open_form(browser)).status_code == 302


@pytest.mark.parametrize(
    ("referer", "is_linked"),
    [
        ("http://testserver", True),
        ("http://testserver/", True),
        ("http://testserver/\\/", True),
        ("https://evil.example", False),
        ("http://testserver//evil.example", False),
        ("http://testserver/\\evil.example", False),
    ],
)
def test_a_form_with_an_old_token_says_why_nothing_was_saved(
    referer: str, is_linked: bool, host: Membership, appointment: Appointment
):
    browser, lead = Client(enforce_csrf_checks=True), appointment.lead
    send_sign_in(browser, host.user.email, open_form(browser))
    path, form = admin_url(Lead, "change", lead.pk), {"csrfmiddlewaretoken": "a" * 32, "first_name": "New"}

    response = browser.post(path, form, headers={"Referer": referer + path})
    page = response.content.decode()

    assert response.status_code == 403
    assert ("This page is out of date" in page, "nothing was saved" in page, 'href="/admin/"' in page) == (True,) * 3
    assert ("CSRF" in page, f'href="{path}"' in page) == (False, is_linked)
    assert [link for link in ("evil.example", "//evil.example", "/\\evil.example") if f'href="{link}' in page] == []
    assert Lead.objects.of(host.organization).get(pk=lead.pk).first_name == lead.first_name


@pytest.mark.parametrize("path", ["/api/docs", "/api/schema", "/api/external/appointments", "/api", "/api/none"])
def test_the_api_answers_a_form_as_json(path: str, db: None):
    response = Client(enforce_csrf_checks=True).post(path, {"a": "b"})

    assert response.headers["Content-Type"] == "application/json"
    assert response.json()["status"] == "error"


def test_a_form_gets_the_token_of_the_present_session(host: Membership):
    browser = Client(enforce_csrf_checks=True)
    signed_out = browser.get(reverse("admin:token"))
    send_sign_in(browser, host.user.email, open_form(browser))

    token = browser.get(reverse("admin:token")).json()["token"]

    assert signed_out.status_code == 302
    assert browser.post("/admin/logout/", {"csrfmiddlewaretoken": token}).status_code == 200
    assert browser.get("/admin/").status_code == 302


def test_every_page_of_the_admin_is_kept_by_no_cache(owner: Client, appointment: Appointment):
    lead = appointment.lead
    paths = {
        "/admin/": 200,
        "/admin/leads/lead/": 200,
        admin_url(Lead, "change", lead.pk): 200,
        admin_url(Lead, "history", lead.pk): 200,
        "/admin/reports/": 200,
        "/admin/search/?q=lead": 200,
        "/admin/account/sessions/": 200,
        "/admin/account/token/": 200,
        "/admin/leads/lead/?unknown=1": 400,
        "/admin/autocomplete/": 403,
        "/admin/nothing/": 404,
        "/admin/login/": 302,
    }

    responses = {path: owner.get(path) for path in paths}
    responses["signed out"] = Client().get("/admin/leads/lead/")
    responses["sign-in page"] = Client().get(LOGIN)

    assert {path: responses[path].status_code for path in paths} == paths
    assert {
        path for path, response in responses.items() if "no-store" not in response.get("Cache-Control", "")
    } == set()
    assert "no-store" not in Client().get("/").get("Cache-Control", "")


def make_row(organization: Organization, model: type[Any]) -> Any:
    """Return a row of the model."""
    match model.__name__:
        case "Endpoint":
            return add_endpoint(organization=organization, url="https://hooks.example.com/in", description="")[0]
        case "CustomField":
            return make_custom_field(organization, "LEAD", "size", type="SELECT", options=["small"])
        case "EventType":
            return make_event_type(organization, "Demo")
        case "Status":
            return make_status(organization, "Nurturing")
        case "Membership":
            return make_member(organization, "kim@acme.example", role=MemberRole.CLOSER)
    return organization


@pytest.mark.parametrize(
    ("model", "first", "second"),
    [
        (Membership, {"role": "VIEWER"}, {"buffer_minutes": "15"}),
        (Endpoint, {"url": "https://new.example.com/in"}, {"description": "CRM"}),
        (CustomField, {"options": "small\nlarge"}, {"label": "Size of the company"}),
        (EventType, {"call_category": "COACHING_CALL"}, {"name": "First demo"}),
        (Organization, {"time_zone": "Europe/Berlin"}, {"default_country": "DE"}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_form_does_not_bring_back_what_someone_else_has_changed_since(
    owner: Client, organization: Organization, model: type[Any], first: dict[str, str], second: dict[str, str]
):
    row = make_row(organization, model)
    url = admin_url(model, "change", row.pk)
    stale = form_data(owner, url)

    saved = owner.post(url, {**stale, **first})
    refused = owner.post(url, {**stale, **second})

    assert saved.status_code == 302
    assert "Someone else has changed this record" in form_errors(refused)[0]
    after = form_data(owner, url)
    assert {name: after[name] for name in first} == first
    assert {name: after[name] for name in second} == {name: stale[name] for name in second}


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (LeadNote, {"note": "Call only after 6 pm"}),
        (Note, {"note": "Call only after 6 pm"}),
        (CustomField, {"label": "Size of the company"}),
        (EventType, {"name": "First demo"}),
        (Status, {"name": "Nurtured"}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_row_that_someone_else_has_changed_since_the_question_is_not_deleted(
    model: type[Any], change: dict[str, str], owner: Client, organization: Organization, appointment: Appointment
):
    for noted in (appointment.lead, appointment):
        owner.post(admin_url(type(noted), "add_note", noted.pk), {"note": "Call at 9"})
    added = model.objects.of(organization).first() if model in (LeadNote, Note) else make_row(organization, model)
    url, edit = (admin_url(model, view, added.pk) for view in ("delete", "change"))

    stale = form_data(owner, url)
    assert owner.post(edit, form_data(owner, edit, **change)).status_code == 302
    refused = owner.post(url, stale)
    left = model.objects.of(organization).filter(pk=added.pk, **change).count()
    deleted = owner.post(url, form_data(owner, url))

    assert (refused.status_code, refused.url) == (302, url)
    assert "Delete: someone has changed this since you opened the page. Nothing was done" in shown_messages(refused)[-1]
    assert (left, deleted.status_code) == (1, 302)
    assert not model.objects.of(organization).filter(pk=added.pk).exists()


def test_a_form_or_a_button_of_a_row_that_was_deleted_meanwhile_says_so(
    owner: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
):
    make_api(organization).post("/api/external/leads", {"email": "ada@example.com"})
    field, lead = make_row(organization, CustomField), Lead.objects.of(organization).get()
    url, move = admin_url(CustomField, "change", field.pk), admin_url(Lead, "set_status", lead.pk)
    stale, status = form_data(owner, url), {"state": str(lead.status_id), "status": str(lead.status_id)}
    find, lost = ServiceAdmin.get_object, []

    def lose(row: Any) -> None:
        """As if another transaction had deleted the row while this one waited for it."""
        lost.append(row)
        raise type(row).DoesNotExist

    def find_what_is_left(page: Any, request: Any, object_id: str, from_field: str | None = None) -> Any:
        return None if lost else find(page, request, object_id, from_field)

    monkeypatch.setattr(ServiceForm, "lock_row", lambda form: lose(form.instance))
    monkeypatch.setattr(ConfirmationForm, "is_valid", lambda form: lose(form.subject))
    monkeypatch.setattr(ServiceAdmin, "get_object", find_what_is_left)
    saved = owner.post(url, stale)
    lost.clear()
    moved = owner.post(move, status)

    for response in (saved, moved):
        assert (response.status_code, response.url) == (302, "/admin/")
        assert "doesn’t exist. Perhaps it was deleted?" in shown_messages(response)[0]


def test_a_member_who_loses_the_role_while_they_save_does_not_keep_it(
    organization: Organization, monkeypatch: pytest.MonkeyPatch
):
    member = make_member(organization, "kim@acme.example", role=MemberRole.MANAGER)
    manager, url = logged_in_client(member), admin_url(Membership, "change", member.pk)
    lock_owners = services.lock_owners

    def wait_for_an_owner(of: Organization) -> Any:
        Membership.objects.of(of).filter(pk=member.pk).update(role=MemberRole.VIEWER)
        return lock_owners(of)

    monkeypatch.setattr(services, "lock_owners", wait_for_an_owner)

    response = manager.post(url, form_data(manager, url, buffer_minutes="15"))

    assert "Someone else has changed this record" in form_errors(response)[0]
    member.refresh_from_db()
    assert (member.role, member.buffer_minutes) == ("VIEWER", 0)


def test_a_refused_form_logs_no_path_because_some_have_secrets(caplog: pytest.LogCaptureFixture):
    browser = Client(enforce_csrf_checks=True)
    for route in (*ADMIN_ROUTES, *OTHER_ROUTES):
        browser.post(re.sub("<[^>]+>", "the-secret", url_template(route.pattern)))

    refused = [record for record in caplog.records if record.name == "django.security.csrf"]
    assert len(refused) > 20
    assert "the-secret" not in caplog.text
    assert any("admin/invitation/<token>/" in record.getMessage() for record in refused)


def test_what_another_owner_has_decided_about_old_leads_or_slack_is_not_overwritten_by_a_page_from_before(
    organization: Organization,
):
    first, second = (logged_in_client(make_member(organization, f"{i}@acme.example", role="OWNER")) for i in range(2))
    retention, slack = (admin_url(Organization, name, organization.pk) for name in ("retention", "connect_slack"))
    first.post(retention, form_data(first, retention, days="400", name=organization.name))
    days = form_data(first, retention) | {"days": "400", "name": organization.name}
    url = form_data(first, slack) | {"url": "https://hooks.slack.example/first"}
    second.post(retention, form_data(second, retention, days=""))
    second.post(slack, form_data(second, slack, url="https://hooks.slack.example/second"))

    responses = [first.post(retention, days), first.post(slack, url)]

    text = "Someone has changed this since you opened the page. Nothing was done: check it before you try again."
    assert [form_errors(response)[0] for response in responses] == [text, text]
    organization.refresh_from_db()
    assert organization.slack_url == "https://hooks.slack.example/second"
    assert LeadRetention.objects.of(organization).get().days is None
    assert first.post(slack, form_data(first, slack, url="https://hooks.slack.example/first")).status_code == 302
