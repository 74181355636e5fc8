"""The admin site as a whole: login, query counts of lists, writes through services, external hosts and time zones."""

from html import unescape

import pytest
from django.contrib.admin import ModelAdmin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from appointments.models import Appointment
from organizations.models import Membership, Organization, User
from statuses.models import Status
from tests.factories import make_member
from tests.staff.pages import TENANT_MODEL_ADMINS, admin_url, list_url
from tests.staff.sample_data import create_sample_data

PASSWORD = "secret-of-tests"


def log_in(email: str, password: str = PASSWORD):
    """Send the login form; return the client and the response."""
    client = Client()
    return client, client.post(reverse("admin:login"), {"username": email, "password": password})


def test_a_member_can_log_in_with_the_e_mail_in_any_letter_case(host: Membership):
    client, response = log_in("HANA@acme.example")

    assert (response.status_code, response.url) == (302, "/admin/")
    assert client.get("/admin/").status_code == 200


def test_a_user_without_a_membership_cannot_log_in(db: None):
    User.objects.create_user("alone@example.com", "secret-of-tests", is_staff=True)

    client, response = log_in("alone@example.com")

    assert "You are not a member of any active organization." in response.content.decode()
    assert client.get("/admin/").status_code == 302


@pytest.mark.usefixtures("stopped_clock")
def test_guessing_passwords_is_rate_limited(host: Membership):
    responses = [log_in("hana@acme.example", "wrong")[1].content.decode() for _ in range(11)]
    with_correct_password = log_in("hana@acme.example")[1]

    assert ["Too many attempts" in response for response in responses] == [False] * 10 + [True]
    assert with_correct_password.status_code == 200


def test_a_wrong_password_while_signed_in_is_called_that_and_not_a_missing_right(owner: Client, host: Membership):
    response = owner.post(reverse("admin:login"), {"username": host.user.email, "password": "wrong"})

    text = unescape(response.content.decode())
    assert "Please enter the correct e-mail and password" in text
    assert "authenticated as" not in text


def test_login_does_not_redirect_to_another_site(host: Membership):
    response = Client().post(
        f"{reverse('admin:login')}?next=https://evil.example/",
        {"username": "hana@acme.example", "password": "secret-of-tests"},
    )

    assert response.url == "/admin/"


@pytest.mark.parametrize("model_admin", TENANT_MODEL_ADMINS, ids=lambda model_admin: model_admin.opts.label)
def test_a_list_needs_the_same_number_of_queries_for_any_number_of_rows(
    model_admin: ModelAdmin, owner: Client, organization: Organization
):
    counts = []
    for word in ("one", "two", "three"):
        create_sample_data(organization, word)
        owner.get(list_url(model_admin.model))
        with CaptureQueriesContext(connection) as queries:
            owner.get(list_url(model_admin.model))
        counts.append(len(queries))

    assert counts == [counts[0]] * 3


@pytest.mark.parametrize("model_admin", TENANT_MODEL_ADMINS, ids=lambda model_admin: model_admin.opts.label)
def test_only_services_write(model_admin: ModelAdmin):
    own_attributes = type(model_admin).__dict__
    unchanged = [
        name for name in ("save_model", "delete_model") if getattr(type(model_admin), name) is getattr(ModelAdmin, name)
    ]

    assert unchanged == []
    assert (
        "delete_selected" not in [name for name, *_ in model_admin._get_base_actions()]
        or "get_actions" not in own_attributes
    )


def test_the_dashboard_shows_upcoming_appointments_of_the_own_organization(
    owner: Client, appointment: Appointment, other_appointment: Appointment
):
    page = owner.get("/admin/").content.decode()

    assert "ours call" in page
    assert "zyxwv" not in page


def test_no_page_loads_anything_from_another_host(owner: Client, appointment: Appointment):
    pages = [
        owner.get(url).content.decode()
        for url in ("/admin/", admin_url(Appointment, "changelist"), admin_url(Appointment, "change", appointment.pk))
    ]

    assert [page for page in pages if 'src="http' in page or 'href="http' in page or "//fonts." in page] == []


def test_an_unknown_time_zone_is_shown_as_utc(organization: Organization):
    member = make_member(organization, "lost@acme.example", time_zone="../Nowhere")
    client = Client()
    client.force_login(member.user)

    assert 'title="Change your time zone">UTC</a>' in client.get("/admin/").content.decode()


def test_only_the_admin_uses_the_time_zone_of_the_user(organization: Organization):
    member = make_member(organization, "tokyo@acme.example", time_zone="Asia/Tokyo")
    client = Client()
    client.force_login(member.user)

    assert "Asia/Tokyo" in client.get("/admin/").content.decode()
    assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize(("status", "text"), [(400, "not valid"), (403, "Your role"), (404, "no such page")])
def test_an_error_page_says_why_and_leads_home(closer: Client, status: int, text: str):
    urls = {400: f"{list_url(Appointment)}&unknown=1", 403: admin_url(Status, "changelist"), 404: "/no-such-page/"}

    response = closer.get(urls[status])

    page = unescape(response.content.decode())
    assert (response.status_code, text in page, 'href="/admin/"' in page) == (status, True, True)


@pytest.mark.parametrize("path", ["/admin/login/", "/api/external/leads"])
def test_a_host_that_is_not_served_is_400_and_leaves_no_line_in_the_log(
    caplog: pytest.LogCaptureFixture, path: str
) -> None:
    response = Client().get(path, headers={"host": "other.example"})

    assert (response.status_code, caplog.messages) == (400, [])
