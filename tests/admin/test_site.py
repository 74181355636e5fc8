"""The site as a whole: signing in, reading that changes nothing, and lists that cost the same however long they are."""

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from appointments.models import Appointment
from organizations.models import Membership, Organization, User
from tests.admin.pages import TENANT_MODEL_ADMINS, admin_url
from tests.admin.sample_data import create_sample_data
from tests.factories import make_member

PASSWORD = "secret-of-tests"


def sign_in(email: str, password: str = PASSWORD):
    client = Client()
    return client, client.post(reverse("admin:login"), {"username": email, "password": password})


def test_a_member_signs_in_by_e_mail_in_any_letter_case(host: Membership):
    client, answer = sign_in("HANA@acme.example")

    assert (answer.status_code, answer.url) == (302, "/admin/")
    assert client.get("/admin/").status_code == 200


def test_who_is_no_staff_cannot_sign_in(host: Membership):
    User.objects.filter(pk=host.user_id).update(is_staff=False)

    client, answer = sign_in("hana@acme.example")

    assert answer.status_code == 200
    assert client.get("/admin/").status_code == 302


def test_who_is_a_member_of_nothing_sees_nothing(db: None):
    User.objects.create_user("alone@example.com", "secret-of-tests", is_staff=True)

    client, answer = sign_in("alone@example.com")

    assert "You are not a member of any active organization." in answer.content.decode()
    assert client.get("/admin/").status_code == 302


def test_guessing_passwords_is_slow(host: Membership):
    answers = [sign_in("hana@acme.example", "wrong")[1].content.decode() for _ in range(11)]
    right = sign_in("hana@acme.example")[1]

    assert ["Too many attempts" in answer for answer in answers] == [False] * 10 + [True]
    assert right.status_code == 200


def test_a_next_page_elsewhere_is_not_followed(host: Membership):
    answer = Client().post(
        f"{reverse('admin:login')}?next=https://evil.example/",
        {"username": "hana@acme.example", "password": "secret-of-tests"},
    )

    assert answer.url == "/admin/"


@pytest.mark.parametrize("page", TENANT_MODEL_ADMINS, ids=lambda page: page.opts.label)
def test_a_list_costs_the_same_with_one_row_and_with_many(page, owner: Client, organization: Organization):
    counts = []
    for word in ("one", "two", "three"):
        create_sample_data(organization, word)
        owner.get(admin_url(page.model, "changelist"))
        with CaptureQueriesContext(
            connection,
        ) as queries:
            owner.get(admin_url(page.model, "changelist"))
        counts.append(len(queries))

    assert counts == [counts[0]] * 3


@pytest.mark.parametrize("page", TENANT_MODEL_ADMINS, ids=lambda page: page.opts.label)
def test_only_services_write(page):
    own = type(page).__dict__
    base = [
        name for name in ("save_model", "delete_model") if getattr(type(page), name) is getattr(admin.ModelAdmin, name)
    ]

    assert base == []
    assert "delete_selected" not in [name for name, *_ in page._get_base_actions()] or "get_actions" not in own


def test_the_first_page_shows_the_next_calls(owner: Client, ours: Appointment, theirs: Appointment):
    page = owner.get("/admin/").content.decode()

    assert "ours call" in page
    assert "zyxwv" not in page


def test_no_page_names_another_host(owner: Client, ours: Appointment):
    pages = [
        owner.get(address).content.decode()
        for address in ("/admin/", admin_url(Appointment, "changelist"), admin_url(Appointment, "change", ours.pk))
    ]

    assert [page for page in pages if 'src="http' in page or 'href="http' in page or "//fonts." in page] == []


def test_a_time_zone_that_nobody_knows_is_utc(organization: Organization):
    member = make_member(organization, "lost@acme.example", time_zone="../Nowhere")
    client = Client()
    client.force_login(member.user)

    assert "Acme · UTC" in client.get("/admin/").content.decode()


def test_times_elsewhere_than_in_the_admin_stay_utc(organization: Organization):
    member = make_member(organization, "tokyo@acme.example", time_zone="Asia/Tokyo")
    client = Client()
    client.force_login(member.user)

    assert "Asia/Tokyo" in client.get("/admin/").content.decode()
    assert client.get("/healthz").status_code == 200
