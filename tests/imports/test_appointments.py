"""Importing appointments: what each row does, who is told, and what is recorded."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from appointments.models import Appointment, EventType
from foundation.db.timestamps import isoformat_z, now
from leads.models import Lead
from organizations.models import Membership, Organization
from statuses.models import Status
from tests.client import ApiClient
from tests.factories import (
    events_of,
    make_custom_field,
    make_provider_appointment,
    make_status,
    notifications_of,
)
from tests.imports.files import Page, csv_file
from tests.merging.leads import make_lead, merge

HEADER = ["Reference", "Lead e-mail", "Time", "Event type", "Host", "Outcome", "Meeting URL", "Note"]
PAST, FUTURE = "2026-03-02 10:00", "2031-03-03 10:00"


def appointment_with(organization: Organization, reference: str) -> Appointment:
    found: Appointment = Appointment.objects.of(organization).get(external_reference=reference)
    return found


def test_a_file_books_appointments_with_new_leads_and_gives_them_their_outcomes(
    mia: Client, organization: Organization, host: Membership
) -> None:
    field = make_custom_field(organization, "APPOINTMENT", "deal", type="NUMBER")
    rows = [
        [
            "a-1",
            "ada@example.com",
            PAST,
            "Coaching",
            "hana@acme.example",
            "Won",
            "https://meet.example/a",
            "Paid",
            "900",
        ],
        ["a-2", "ada@example.com", FUTURE, "coaching", "Hana Host", "", "", "", ""],
        ["a-3", "", FUTURE, "Coaching", "", "", "", "", ""],
    ]

    page = Page(mia, organization, csv_file([*HEADER, "Deal"], *rows), kind="APPOINTMENTS")
    page.check()
    checked = page.report()
    page.press("start")

    won, booked = appointment_with(organization, "a-1"), appointment_with(organization, "a-2")
    assert page.row.counts == {"NEW": 2, "REFUSED": 1}
    assert page.report() == [(4, "REFUSED", "Lead e-mail: is missing")]
    assert checked == [
        (
            2,
            "NEW",
            f"ada@example.com, {PAST}; Host: Hana Host; Meeting link: https://meet.example/a; Outcome: Won; Deal: 900; "
            "Note: added; New event type: Coaching",
        ),
        (3, "NEW", f"ada@example.com, {FUTURE}; Host: Hana Host; New event type: coaching"),
        (4, "REFUSED", "Lead e-mail: is missing"),
    ]
    assert won.schedule_time == datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
    assert (won.outcome.name, won.host, won.event_type.name, won.source) == ("Won", host, "Coaching", "MANUAL")
    assert (won.meeting_url, won.notes.get().note) == ("https://meet.example/a", "Paid")
    assert won.custom_values == {str(field.pk): 900}
    assert (booked.outcome.name, booked.lead, booked.event_type) == ("Appointment booked", won.lead, won.event_type)
    assert booked.lead.next_touch_point_at == booked.schedule_time
    assert EventType.objects.of(organization).count() == 1
    assert events_of(organization) == [
        "appointment.created",
        "appointment.created",
        "appointment.outcome_changed",
        "lead.created",
        "lead.status_changed",
        "note.created",
    ]


def test_a_row_changes_the_appointment_with_its_reference_and_blank_cells_nothing(
    mia: Client, organization: Organization, api: ApiClient, host: Membership
) -> None:
    api.book(external_reference="a-1", lead_email="ada@example.com", host_email="hana@acme.example", notes="First")
    api.book(external_reference="a-2", lead_email="bob@example.com")
    header = ["Reference", "Lead e-mail", "Time", "Host", "Triager", "Outcome", "Note"]
    file = csv_file(
        header,
        ["a-1", "ADA@example.com", FUTURE, "", "mia@acme.example", "No-show", "Second"],
        ["a-2", "", "", "", "", "", ""],
    )

    page = Page(mia, organization, file, kind="APPOINTMENTS")
    page.check()
    reports = page.report()
    page.press("start")

    changed = appointment_with(organization, "a-1")
    assert [report[:2] for report in reports] == [(2, "CHANGED"), (3, "UNCHANGED")]
    assert reports[0][2].endswith(
        f"→ {FUTURE}; Triager: – → Mia Manager; Outcome: Appointment booked → No-show; Note: added"
    )
    assert (changed.host, changed.triager.user.email) == (host, "mia@acme.example")
    assert (changed.outcome.name, changed.no_show) == ("No-show", True)
    assert [note.note for note in changed.notes.all()] == ["Second", "First"]

    again = Page(mia, organization, file, kind="APPOINTMENTS").run()

    assert again.row.counts == {"UNCHANGED": 2}


def test_a_row_finds_the_appointment_by_a_reference_that_it_had(
    mia: Client, organization: Organization, other_api: ApiClient, api: ApiClient
) -> None:
    for client in (api, other_api):
        client.book(external_reference="a-1", lead_email="ada@example.com")
        client.reschedule(external_reference="a-1", new_external_reference="a-2")
    file = csv_file(["Reference", "Recording URL"], ["a-1", "https://record.example/1"])

    Page(mia, organization, file, kind="APPOINTMENTS").run()

    assert appointment_with(organization, "a-2").recording_url == "https://record.example/1"
    assert [row["recording_url"] for row in other_api.get_data("/api/external/appointments")] == [None]


@pytest.mark.parametrize(("invitations", "told"), [(False, []), (True, ["a-future", "b-moved"])])
def test_only_for_future_appointments_and_if_asked_for_anybody_is_told(
    mia: Client, organization: Organization, api: ApiClient, host: Membership, invitations: bool, told: list[str]
) -> None:
    for reference in ("b-moved", "c-past"):
        api.book(external_reference=reference, lead_email="ada@example.com", host_email="hana@acme.example")
    before = len(notifications_of(organization))
    rows = [
        ["a-future", "ada@example.com", FUTURE, "Coaching", "hana@acme.example"],
        ["a-past", "ada@example.com", PAST, "Coaching", "hana@acme.example"],
        ["b-moved", "", FUTURE, "", ""],
        ["c-past", "", PAST, "", ""],
    ]

    Page(mia, organization, csv_file(HEADER[:5], *rows), kind="APPOINTMENTS").run(invitations=invitations)

    invited = {row.external_reference for row in Appointment.objects.of(organization) if row.invited}
    assert len(notifications_of(organization)) == before + len(told)
    assert invited == {"b-moved", "c-past", *told}


def test_a_past_appointment_leaves_the_status_of_its_known_lead(
    mia: Client, organization: Organization, api: ApiClient
) -> None:
    api.submit(email="ada@example.com", first_name="Ada")

    Page(
        mia, organization, csv_file(HEADER[:4], ["a-1", "ada@example.com", PAST, "Coaching"]), kind="APPOINTMENTS"
    ).run()

    lead = Lead.objects.of(organization).get()
    assert lead.status.name == "New lead"
    assert lead.appointments.count() == 1


def test_what_contradicts_the_stored_appointment_is_refused(
    mia: Client, organization: Organization, other_organization: Organization, api: ApiClient, other_api: ApiClient
) -> None:
    api.book(external_reference="a-1", lead_email="ada@example.com")
    other = other_api.book(external_reference="g-1").json()["data"]["id"]
    make_provider_appointment(organization, external_reference="p-1")
    header = ["Reference", "ID", "Lead e-mail", "Event type", "Meeting URL"]
    rows = [
        ["a-1", "", "eve@example.com", "", ""],
        ["a-1", "", "", "No such type", ""],
        ["p-1", "", "", "", "https://meet.example/x"],
        ["", other, "", "", "https://meet.example/x"],
        ["", "", "ada@example.com", "", ""],
        ["", "7", "", "", "javascript:alert(1)"],
    ]

    page = Page(mia, organization, csv_file(header, *rows), kind="APPOINTMENTS").run()

    assert [row[-1] for row in page.refused_rows()[1:]] == [
        "Lead e-mail: the appointment is one of ada@example.com",
        "Left out: Event type: “No such type” is not known",
        "Scheduler A manages this appointment; change it there",
        "Appointment ID: is not known",
        "Reference: is missing",
        "Appointment ID: “7” is not an ID; Reference: is missing",
    ]
    assert page.row.counts == {"REFUSED": 5, "UNCHANGED": 1}


def test_an_appointment_that_staff_have_booked_without_a_reference_is_found_by_its_id(
    mia: Client, organization: Organization
) -> None:
    file = csv_file(HEADER[:4], ["a-1", "ada@example.com", FUTURE, "Coaching"])
    Page(mia, organization, file, kind="APPOINTMENTS").run()
    stored = appointment_with(organization, "a-1")
    Appointment.objects.of(organization).update(external_reference=None)

    page = Page(
        mia,
        organization,
        csv_file(["ID", "Reference", "Outcome"], [str(stored.pk), "", "Lost"]),
        kind="APPOINTMENTS",
    ).run()

    stored.refresh_from_db()
    assert page.row.counts == {"CHANGED": 1}
    assert stored.outcome.name == "Lost"


def test_a_former_reference_does_not_undo_a_move(mia: Client, organization: Organization, api: ApiClient) -> None:
    """docs/interface.md, A40"""
    api.book(external_reference="old")
    api.reschedule(external_reference="old", new_external_reference="new", schedule_time="2031-03-03T09:00:00Z")
    header = ["Reference", "Time", "Outcome", "Note"]
    rows = [["old", PAST, "", ""], ["old", "", "Canceled", ""], ["old", "", "", "First"], ["new", "", "", "Second"]]

    page = Page(mia, organization, csv_file(header, *rows), kind="APPOINTMENTS")
    page.check()

    problem = "The appointment has been moved to the reference new since"
    assert page.report() == [
        (2, "REFUSED", problem),
        (3, "REFUSED", problem),
        (4, "CHANGED", "Note: added"),
        (5, "REFUSED", "The same reference is in row 4 already"),
    ]


@pytest.mark.parametrize("outcome", ["Canceled", "No-show"])
def test_no_one_is_invited_to_a_call_that_is_imported_as_canceled_or_missed(
    outcome: str, mia: Client, organization: Organization, host: Membership
) -> None:
    row = ["c-1", "ada@example.com", "2031-03-03 10:00", "Strategy", host.user.email, outcome]
    header = ["Reference", "Lead e-mail", "Time", "Event type", "Host", "Outcome"]

    Page(mia, organization, csv_file(header, row), kind="APPOINTMENTS").run(invitations=True)

    assert Appointment.objects.of(organization).get().outcome.name == outcome
    assert notifications_of(organization) == []


def test_a_corrected_outcome_of_a_past_call_leaves_the_status_of_its_lead(
    mia: Client, organization: Organization, api: ApiClient
) -> None:
    """docs/interface.md, A32"""
    rows = [*HEADER[:4], "Outcome"], ["a-1", "ada@example.com", PAST, "Coaching", "No-show"]
    Page(mia, organization, csv_file(*rows), kind="APPOINTMENTS").run()
    api.book(external_reference="a-2", lead_email="ada@example.com")

    Page(mia, organization, csv_file(["Reference", "Outcome"], ["a-1", "Lost"]), kind="APPOINTMENTS").run()

    assert appointment_with(organization, "a-1").outcome.name == "Lost"
    assert Lead.objects.of(organization).get().status.name == "Appointment booked"


@pytest.mark.parametrize(
    ("outcome", "statuses"),
    [
        ("Canceled", ["Lost", "Canceled", "Canceled"]),
        ("Rescheduled", ["Lost", "New lead", "New lead"]),
        ("No-show", ["No-show"] * 3),
    ],
)
def test_a_new_call_that_is_off_already_is_no_booking_for_its_lead(
    outcome: str, statuses: list[str], mia: Client, organization: Organization, api: ApiClient
) -> None:
    """docs/interface.md, S9: a new booking replaces a verdict; a call that doesn't take place isn't one."""
    for name in ("lost", "new"):
        api.submit(email=f"{name}@example.com")
    lost = Status.objects.of(organization).get(role="LOST")
    Lead.objects.of(organization).filter(email="lost@example.com").update(status=lost)
    names = ("lost", "new", "unknown")
    planned = {"next_touch_point_at": datetime(2032, 1, 5, 10, tzinfo=UTC), "next_touch_point_type": "CALL"}
    Lead.objects.of(organization).filter(email="lost@example.com").update(**planned)
    rows = [[name, f"{name}@example.com", FUTURE, "Coaching", outcome] for name in names]

    Page(mia, organization, csv_file([*HEADER[:4], "Outcome"], *rows), kind="APPOINTMENTS").run()

    assert [Lead.objects.of(organization).get(email=f"{name}@example.com").status.name for name in names] == statuses
    assert {row.outcome.name for row in Appointment.objects.of(organization)} == {outcome}
    # One to be rescheduled is still to come, until it has another time.
    is_kept = Lead.objects.of(organization).filter(email="lost@example.com", **planned).exists()
    assert is_kept == (outcome != "Rescheduled")


def test_a_canceled_call_gets_no_meeting_link(mia: Client, organization: Organization) -> None:
    header = [*HEADER[:4], "Outcome", "Meeting URL"]
    file = csv_file(header, ["c-1", "ada@example.com", FUTURE, "Coaching", "Canceled", "https://meet.example/1"])
    page = Page(mia, organization, file, kind="APPOINTMENTS")
    page.check()

    checked = page.report()
    page.press("start")
    again = Page(mia, organization, file, kind="APPOINTMENTS").run()

    assert "Meeting link" not in checked[0][2]
    assert appointment_with(organization, "c-1").meeting_url is None
    assert again.row.counts == {"UNCHANGED": 1}


def test_a_new_call_that_was_missed_keeps_a_status_of_that_role(
    mia: Client, organization: Organization, api: ApiClient
) -> None:
    """docs/interface.md, A29"""
    api.submit(email="ada@example.com")
    ghosted = make_status(organization, "Ghosted", role="NO_SHOW")
    Lead.objects.of(organization).update(status=ghosted)
    row = ["c-1", "ada@example.com", FUTURE, "Coaching", "No-show"]

    Page(mia, organization, csv_file([*HEADER[:4], "Outcome"], row), kind="APPOINTMENTS").run()

    assert Lead.objects.of(organization).get().status == ghosted


@pytest.mark.parametrize("is_newest_first", [True, False])
@pytest.mark.parametrize(
    ("older", "newer", "lead"),
    [("Follow-up", "No-show", "No-show"), ("Won", "Lost", "Won"), ("Lost", "Canceled", "Lost"), ("Lost", "Won", "Won")],
)
def test_of_several_outcomes_the_latest_calls_decides_about_the_lead_in_any_order_of_the_rows(
    older: str, newer: str, lead: str, is_newest_first: bool, mia: Client, organization: Organization, api: ApiClient
) -> None:
    rows = [["older", older], ["newer", newer]]
    for reference, minutes in {"older": 50, "newer": 30}.items():
        at = isoformat_z(now() - timedelta(minutes=minutes))
        api.book(external_reference=reference, lead_email="ada@example.com", schedule_time=at)

    file = csv_file(["Reference", "Outcome"], *(rows[::-1] if is_newest_first else rows))
    Page(mia, organization, file, kind="APPOINTMENTS").run()

    assert [appointment_with(organization, name).outcome.name for name in ("older", "newer")] == [older, newer]
    assert Lead.objects.of(organization).get().status.name == lead


@pytest.mark.parametrize("outcome", ["Canceled", "No-show", "Rescheduled"])
@pytest.mark.parametrize("time", [PAST, FUTURE])
def test_a_corrected_time_leaves_the_outcome_that_the_file_names(
    mia: Client, organization: Organization, host: Membership, outcome: str, time: str
) -> None:
    header = ["Reference", "Lead e-mail", "Time", "Event type", "Host", "Outcome"]
    first, corrected = (
        csv_file(header, ["a-1", "ada@example.com", at, "Coaching", host.user.email, outcome])
        for at in (time, time.replace("10:00", "16:00"))
    )
    Page(mia, organization, first, kind="APPOINTMENTS").run(invitations=True)
    status = Lead.objects.of(organization).get().status

    page = Page(mia, organization, corrected, kind="APPOINTMENTS")
    page.check(invitations=True)
    checked = page.report()
    page.press("start")

    stored = appointment_with(organization, "a-1")
    assert checked == [(2, "CHANGED", f"Time: {time} → {time.replace('10:00', '16:00')}")]
    assert (stored.outcome.name, stored.no_show) == (outcome, outcome == "No-show")
    assert Lead.objects.of(organization).get().status == status
    assert notifications_of(organization) == []


@pytest.mark.parametrize("later", [[], ["LOST"]])
def test_the_check_says_that_another_time_books_a_canceled_call_again(
    mia: Client, organization: Organization, api: ApiClient, later: list[str]
) -> None:
    """docs/interface.md, A28"""
    id = api.book(external_reference="a-1").json()["data"]["id"]
    api.cancel(external_reference="a-1")
    for role in later:
        api.patch(f"/api/external/appointments/{id}", {"outcome_role": role})
    page = Page(mia, organization, csv_file(["Reference", "Time"], ["a-1", FUTURE]), kind="APPOINTMENTS")
    page.check()

    [(_, verdict, details)] = page.report()
    page.press("start")

    assert verdict == "CHANGED"
    assert details.endswith(f"→ {FUTURE}; Outcome: {'Lost' if later else 'Canceled'} → Appointment booked")
    assert appointment_with(organization, "a-1").outcome.name == "Appointment booked"


def test_the_address_of_a_merged_lead_is_that_of_the_kept_one(
    mia: Client, organization: Organization, other_organization: Organization, api: ApiClient, other_api: ApiClient
) -> None:
    """docs/interface.md, L22"""
    kept, merged = (make_lead(client, email) for client, email in ((api, "ada@example.com"), (api, "bob@example.com")))
    api.book(external_reference="a-1", lead_email="bob@example.com")
    other = [make_lead(other_api, email) for email in ("ada@example.com", "eve@example.com")]
    api.book(external_reference="a-2", lead_email="cy@example.com")
    merge(organization, kept, merged)
    merge(other_organization, *other)
    rows = [["a-1", "BOB@example.com", "First"], ["a-2", "bob@example.com", "No"]]
    again = [["a-1", "ada@example.com", "Second"], ["a-1", "eve@example.com", "No"]]
    header = ["Reference", "Lead e-mail", "Note"]

    pages = [Page(mia, organization, csv_file(header, *some), kind="APPOINTMENTS").run() for some in (rows, again)]

    assert [note.note for note in appointment_with(organization, "a-1").notes.all()] == ["Second", "First"]
    assert [page.report() for page in pages] == [
        [(3, "REFUSED", "Lead e-mail: the appointment is one of cy@example.com")],
        [(3, "REFUSED", "Lead e-mail: the appointment is one of ada@example.com")],
    ]


NAMES = ["Reference", "Lead e-mail", "Time", "Event type", "First name", "Last name", "Phone"]


def test_names_and_phone_fill_what_a_known_lead_lacks(
    mia: Client, organization: Organization, other_organization: Organization, api: ApiClient, other_api: ApiClient
) -> None:
    for client in (api, other_api):
        client.book(external_reference="a-1", lead_email="ada@example.com", lead_first_name=None, lead_phone=None)
        client.submit(email="bob@example.com", first_name="Bob")
    api.book(external_reference="a-2", lead_email="ada@example.com")
    rows = [
        ["a-2", "eve@example.com", "", "", "Eve", "Other", ""],
        ["a-1", "ada@example.com", "", "", "Augusta", "King", "+14155552671"],
        ["b-1", "bob@example.com", FUTURE, "Coaching", "Robert", "Byron", "+14155552672"],
    ]
    page = Page(mia, organization, csv_file(NAMES, *rows), kind="APPOINTMENTS")
    page.check()
    checked = page.report()

    page.press("start")

    fields = ("first_name", "last_name", "phone_e164")
    leads = {lead.email[:3]: [getattr(lead, name) for name in fields] for lead in Lead.objects.of(organization)}
    assert checked[1] == (3, "CHANGED", "First name: ada → Augusta; Last name: – → King; Phone: – → +14155552671")
    assert leads == {"ada": ["Augusta", "King", "+14155552671"], "bob": ["Bob", "Byron", "+14155552672"]}
    assert events_of(organization).count("lead.updated") == 1
    assert events_of(other_organization).count("lead.updated") == 0
    again = Page(mia, organization, csv_file(NAMES, *rows), kind="APPOINTMENTS").run()
    assert again.row.counts == {"UNCHANGED": 2, "REFUSED": 1}

    page.press("undo")

    ada = Lead.objects.of(organization).get(email="ada@example.com")
    assert [getattr(ada, name) for name in fields] == ["ada", "", None]
    assert ada.is_first_name_from_email


def test_a_phone_that_is_corrected_after_the_import_reaches_the_lead(mia: Client, organization: Organization) -> None:
    row = ["a-1", "ada@example.com", FUTURE, "Coaching", "Ada", "", "415"]
    page = Page(mia, organization, csv_file(NAMES, row), kind="APPOINTMENTS").run()
    header, [*cells, problem] = page.refused_rows()

    Page(mia, organization, csv_file(header[:-1], [*cells[:-1], "+14155552671"]), kind="APPOINTMENTS").run()

    assert problem.startswith("Left out: Phone")
    assert Lead.objects.of(organization).get().phone_e164 == "+14155552671"


def test_a_row_whose_reference_is_another_one_than_that_of_its_id_is_refused(
    mia: Client, organization: Organization, api: ApiClient
) -> None:
    ids = {name: api.book(external_reference=name).json()["data"]["id"] for name in ("a-1", "a-2")}
    before = dict(Appointment.objects.of(organization).values_list("external_reference", "schedule_time"))
    rows = [["new", ids["a-1"]], ["a-1", ids["a-2"]], ["a-2", ids["a-2"]]]
    page = Page(
        mia,
        organization,
        csv_file(["Reference", "Appointment ID", "Time"], *[[*row, "2031-01-05 10:00"] for row in rows]),
        kind="APPOINTMENTS",
    ).run()

    problem = "Reference: is not that of the appointment with this ID"
    assert [row[-1] for row in page.refused_rows()[1:]] == [problem, problem]
    after = dict(Appointment.objects.of(organization).values_list("external_reference", "schedule_time"))
    assert after["a-1"] == before["a-1"]
    assert after["a-2"] != before["a-2"]
