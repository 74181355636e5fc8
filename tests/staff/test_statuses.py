"""Statuses in the admin: what keeps a board's defaults right, and retiring a status that is in use."""

import pytest
from django.contrib.admin import ModelAdmin
from django.db.models import UniqueConstraint
from django.test import Client

from appointments.models import Appointment, CallAnalysis
from appointments.services import edit_appointment
from leads.models import Lead
from organizations.actors import SYSTEM
from organizations.models import Membership, Organization, User
from statuses.models import Status
from tests.client import ApiClient
from tests.factories import make_api, make_status, snapshot_of
from tests.merging.leads import make_lead
from tests.staff.forms import form_data
from tests.staff.pages import MODEL_ADMINS, admin_url, form_errors, shown_messages

# Constraints whose fields a form checks before Django checks the constraint, as tests of this file show.
CHECKED_BY_THE_FORM = {
    "appointment_default_is_on_its_board",
    "confidence_is_from_0_to_1",
    "default_is_active",
    "lead_default_is_on_the_lead_board",
    "lead_message_has_at_most_5000_characters",
    "one_user_per_email",
    "reminder_is_at_most_168_hours_before",
}


def status_with_role(organization: Organization, role: str) -> Status:
    """Return the default status of the role."""
    return Status.objects.of(organization).get(role=role)


def save(client: Client, status: Status, **changes: object):
    """Change the status in the admin, and return the response."""
    url = admin_url(Status, "change", status.pk)
    return client.post(url, form_data(client, url, **changes))


def offered(client: Client, url: str, field: str) -> set[str]:
    """Return the names of the statuses that the form at the URL offers."""
    queryset = client.get(url).context["adminform"].form.fields[field].queryset
    return {status.name for status in queryset}


def test_colors_that_are_hard_to_read_are_mentioned_and_not_used(owner: Client, organization: Organization):
    status = make_status(organization, "Pale", text_color="#1e3a8a", bg_color="#dbeafe")
    readable = save(owner, status, text_color="#1e3a8a")
    pale = save(owner, status, text_color="#ffff00", bg_color="#ffffff")
    page = owner.get(admin_url(Status, "changelist")).content.decode()

    assert not any("contrast" in message for message in shown_messages(readable))
    assert any("contrast below 4.5 : 1" in message for message in shown_messages(pale))
    assert "color:#000000;background-color:#ffffff" in page


def test_a_retired_status_is_no_longer_offered_and_can_be_brought_back(owner: Client, appointment: Appointment):
    status = make_status(appointment.organization, "Waiting list")
    forms = [
        (admin_url(Lead, "change", appointment.lead_id), "status"),
        (admin_url(Lead, "add"), "status"),
        (admin_url(Appointment, "change", appointment.pk), "outcome"),
    ]

    retired = save(owner, status, is_active="")
    after_retiring = ["Waiting list" in offered(owner, *form) for form in forms]
    save(owner, status, is_active="on")

    assert retired.status_code == 302, form_errors(retired)
    assert after_retiring == [False] * 3
    assert ["Waiting list" in offered(owner, *form) for form in forms] == [True] * 3


def test_what_has_a_retired_status_keeps_it_and_can_be_saved(owner: Client, appointment: Appointment):
    status = make_status(appointment.organization, "Waiting list")
    lead_url = admin_url(Lead, "change", appointment.lead_id)
    url = admin_url(Appointment, "change", appointment.pk)
    owner.post(lead_url, form_data(owner, lead_url, status=status.pk))
    owner.post(url, form_data(owner, url, outcome=status.pk))
    save(owner, status, is_active="")

    saved = [
        owner.post(lead_url, form_data(owner, lead_url, last_name="Byron")),
        owner.post(url, form_data(owner, url, recording_url="https://rec.example/1")),
    ]

    appointment.refresh_from_db()
    assert [response.status_code for response in saved] == [302, 302]
    assert (appointment.outcome, appointment.lead.status, appointment.lead.last_name) == (status, status, "Byron")
    assert [status.name in text for text in map(str, (appointment.outcome, appointment.lead.status))] == [True, True]


@pytest.mark.parametrize("role", ["NEW_LEAD", "APPOINTMENT_BOOKED", "CANCELED"])
def test_a_default_that_automatic_changes_need_cannot_be_retired(role: str, owner: Client, organization: Organization):
    before = snapshot_of(organization)

    response = save(owner, status_with_role(organization, role), is_active="")

    assert any("Make another status the default first" in message for message in form_errors(response))
    assert snapshot_of(organization) == before


@pytest.mark.parametrize(("role", "new_role"), [("LOST", "NO_SHOW"), ("NO_SHOW", "LOST"), ("RESCHEDULED", "CANCELED")])
def test_a_status_in_use_neither_becomes_nor_stops_being_canceled_or_missed(
    role: str, new_role: str, owner: Client, appointment: Appointment
):
    """What follows is stored with its appointments (docs/interface.md, S13)."""
    status, unused = (make_status(appointment.organization, name, role=role) for name in ("Ghosted", "Unused"))
    edit_appointment(organization=appointment.organization, actor=SYSTEM, appointment=appointment, status_id=status.pk)
    before = snapshot_of(appointment.organization)

    refused = save(owner, status, role=new_role)
    unchanged = snapshot_of(appointment.organization) == before
    renamed, other = save(owner, status, name="No answer"), save(owner, unused, role=new_role)

    assert "Ghosted is in use, so its role can't change from" in form_errors(refused)[0]
    assert unchanged
    assert (renamed.status_code, other.status_code) == (302, 302)


def test_a_retired_status_is_no_longer_the_default_of_another_role(owner: Client, organization: Organization):
    status = status_with_role(organization, "NO_SHOW")

    response = save(owner, status, is_active="")

    status.refresh_from_db()
    assert response.status_code == 302, form_errors(response)
    assert (status.is_active, status.is_lead_default, status.is_appointment_default) == (False, False, False)


def test_a_list_can_be_filtered_by_a_retired_status(owner: Client, appointment: Appointment):
    status = make_status(appointment.organization, "Waiting list")
    url = admin_url(Lead, "change", appointment.lead_id)
    owner.post(url, form_data(owner, url, status=status.pk))
    save(owner, status, is_active="")

    response = owner.get(admin_url(Lead, "changelist"), {"status__id__exact": str(status.pk)})

    assert list(response.context["cl"].result_list) == [appointment.lead]


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        (
            {"type": "APPOINTMENT", "is_appointment_default": ""},
            "is_lead_default",
            "Only a status of the lead board can be its default.",
        ),
        (
            {"type": "LEAD", "is_lead_default": ""},
            "is_appointment_default",
            "Only a status of the appointment board can be its default.",
        ),
    ],
)
def test_a_default_of_the_wrong_board_is_refused_at_its_field(
    changes: dict[str, str], field: str, message: str, owner: Client, organization: Organization
):
    response = save(owner, status_with_role(organization, "LOST"), **changes)

    assert response.context["adminform"].form.errors == {field: [message]}


def test_an_e_mail_that_another_account_has_is_refused_at_its_field(operator: Client, host: Membership):
    root = User.objects.get(is_superuser=True)
    url = admin_url(User, "change", root.pk)

    response = operator.post(url, form_data(operator, url, email=host.user.email.upper()))

    assert response.context["adminform"].form.errors == {"email": ["This e-mail belongs to another account."]}


def test_a_confidence_above_one_is_refused_at_its_field(owner: Client, appointment: Appointment):
    url = admin_url(CallAnalysis, "change", CallAnalysis.objects.of(appointment.organization).get().pk)

    response = owner.post(url, form_data(owner, url, ai_confidence_score="1.5"))

    assert response.context["adminform"].form.errors == {
        "ai_confidence_score": ["Ensure this value is less than or equal to 1."]
    }


@pytest.mark.parametrize("model_admin", MODEL_ADMINS, ids=lambda model_admin: model_admin.opts.label)
def test_no_form_shows_the_name_of_a_constraint(model_admin: ModelAdmin):
    # Django checks no constraint on a field that the form lacks, and the organization is never one of its fields.
    shown = {
        constraint.name
        for constraint in model_admin.model._meta.constraints
        if not (isinstance(constraint, UniqueConstraint) and is_of_organization(constraint))
    } - CHECKED_BY_THE_FORM

    if not model_admin.can_add and (model_admin.is_read_only or not model_admin.can_change):
        shown.clear()
    assert shown == set()


def is_of_organization(constraint: UniqueConstraint) -> bool:
    """Return whether the organization is one of the constraint's columns."""
    columns = [*constraint.fields, *(str(getattr(part, "name", "")) for part in constraint.expressions)]
    return "organization" in columns


def test_the_lead_of_another_organization_is_not_changed_by_retiring(
    owner: Client, organization: Organization, other_organization: Organization
):
    make_api(other_organization).submit(email="ada@example.com")
    before = snapshot_of(other_organization)

    save(owner, status_with_role(organization, "WON"), is_active="")

    assert snapshot_of(other_organization) == before


def test_lists_and_forms_have_the_statuses_in_the_order_of_the_api(owner: Client, appointment: Appointment):
    for name in ["Äpfel", "apple", "zeta", "Zulu"]:
        make_status(appointment.organization, name)
    names = [status["name"] for status in make_api(appointment.organization).get_data("/api/external/statuses")]
    list_url, form_url = admin_url(Status, "changelist"), admin_url(Lead, "change", appointment.lead_id)

    listed = [status.name for status in owner.get(list_url).context["cl"].result_list]
    sorted_by_click = [status.name for status in owner.get(f"{list_url}?o=-0").context["cl"].result_list]
    offered = [status.name for status in owner.get(form_url).context["adminform"].form.fields["status"].queryset]

    assert listed == offered == names
    assert sorted_by_click == names[::-1]


def test_leads_are_sorted_by_the_name_of_their_status(owner: Client, organization: Organization):
    api = make_api(organization)
    for name in ["zeta", "Äpfel", "apple"]:
        lead_id = api.submit(email=f"{name}@example.com".lower().replace("ä", "ae")).json()["data"]["lead_id"]
        api.patch(f"/api/external/leads/{lead_id}/status", {"status_id": str(make_status(organization, name).pk)})
    url = admin_url(Lead, "changelist")
    columns = [getattr(column, "short_description", column) for column in owner.get(url).context["cl"].list_display]

    leads = owner.get(f"{url}?o={columns.index('Status')}").context["cl"].result_list

    assert [lead.status.name for lead in leads] == ["Äpfel", "apple", "zeta"]


def test_a_new_status_comes_last_and_on_one_board(owner: Client, organization: Organization):
    Status.objects.of(organization).filter(role="WON").update(position=7)

    form = form_data(owner, admin_url(Status, "add"))

    assert (form["position"], form["type"]) == ("8", "LEAD")


def test_a_row_keeps_a_status_that_has_left_its_board(owner: Client, api: ApiClient, organization: Organization):
    status = make_status(organization, "Both boards", role="FOLLOW_UP")
    lead = Lead.objects.of(organization).get(pk=make_lead(api, "ada@example.com"))
    path = f"/api/external/leads/{lead.pk}/status"
    api.patch(path, {"status_id": str(status.pk)})
    Status.objects.of(organization).filter(pk=status.pk).update(type="APPOINTMENT")

    url = admin_url(Lead, "change", lead.pk)
    saved = owner.post(url, form_data(owner, url, first_name="Ada"))
    again = api.patch(path, {"status_id": str(status.pk)})

    lead.refresh_from_db()
    assert (saved.status_code, again.status_code) == (302, 200)
    assert (lead.first_name, lead.status_id) == ("Ada", status.pk)
