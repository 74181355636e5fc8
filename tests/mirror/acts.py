"""Random changes of an organization's data: requests to the API, forms of the admin, and calls of services."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.test import Client
from time_machine import Traveller
from uuid_utils.compat import uuid7

from appointments.models import Appointment, CallAnalysis, EventType, Note, Provider
from appointments.services import (
    create_note,
    edit_appointment,
    finish_next_step,
    hand_over,
    import_appointment,
    refresh_touch_points,
    reschedule,
    set_next_step,
)
from foundation.db.timestamps import now
from leads.merging import CHOICES, merge_leads, undo_merge
from leads.models import CustomField, Lead, LeadMerge, LeadNote
from leads.services import add_note, edit_lead
from organizations.actors import SYSTEM
from organizations.isolation import TenantModel
from organizations.models import Membership, Organization, User
from statuses.models import Status, StatusRole
from tests.client import ApiClient, booking_payload, opt_in_payload, sync_payload, synced_opt_in_payload
from tests.imports.files import Page, csv_file
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors

PHONES = ["+493012345678", "030 12345678", "+1 415 555 2671", "5555555", "no phone"]
EVENT_TYPES = ["Strategy call", "Follow-up", "strategy CALL", "Coaching", "Demo"]
WORDS = ["Äpfel", "blue", "Hopper", "King", "O'Brien", "north", "Zoë"]
IMPORTED = [StatusRole.APPOINTMENT_BOOKED, StatusRole.CANCELED, StatusRole.NO_SHOW, StatusRole.WON]


@dataclass
class Acts:
    """An organization, the entrances to it, and a random generator that decides what happens."""

    organization: Organization
    api: ApiClient
    admin: Client
    operator: Client
    random: random.Random
    clock: Traveller
    bookings: list[dict[str, Any]] = field(default_factory=list)
    submissions: list[dict[str, Any]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def act(self) -> None:
        """Make one change, or a request that changes nothing."""
        self.clock.shift(timedelta(milliseconds=self.random.randint(1, 60_000)))
        (name,) = self.random.choices(list(WEIGHTS), weights=list(WEIGHTS.values()))
        self.counts[name] += 1
        getattr(self, name)()

    def act_at_least_once(self) -> None:
        """Make each change that chance has left out."""
        for name in [name for name in WEIGHTS if name not in self.counts]:
            getattr(self, name)()

    # What is chosen

    def chance(self, percent: int) -> bool:
        return self.random.random() * 100 < percent

    def word(self) -> str:
        return f"{self.random.choice(WORDS)} {self.random.randint(1, 99)}"

    def row(self, model: type[TenantModel], **filters: Any) -> Any:
        """Return one of the organization's rows."""
        ids = model.objects.of(self.organization).filter(**filters).order_by("pk").values_list("pk", flat=True)
        return model.objects.of(self.organization).get(pk=self.random.choice(list(ids)))

    def appointment(self) -> Appointment:
        appointment: Appointment = self.row(Appointment)
        return appointment

    def member(self) -> Membership:
        member: Membership = self.row(Membership)
        return member

    def status(self) -> Status:
        """Return a status that can be set."""
        status: Status = self.row(Status, is_active=True)
        return status

    def email(self, known: int) -> str:
        """Return an e-mail, with this probability a known lead's."""
        if self.submissions and self.chance(known):
            email = str(self.row(Lead).email)
            return email.upper() if self.chance(20) else email
        return f"lead-{self.random.randint(1, 10**9)}@example.com"

    def time(self) -> datetime:
        """Return a time from yesterday to in ten days, often one that passes during the test."""
        return now() + timedelta(
            minutes=self.random.randint(*((1, 90) if self.chance(40) else (-24 * 60, 10 * 24 * 60)))
        )

    def url(self) -> str:
        return f"https://meet.example/{self.random.randint(1, 10**6)}"

    def some(self, percent: int, values: dict[str, Callable[[], Any]]) -> dict[str, Any]:
        """Return each value with this probability."""
        return {name: value() for name, value in values.items() if self.chance(percent)}

    # The API

    def expect(self, response: Any, *codes: int) -> None:
        assert response.status_code in codes, (response.status_code, response.content)

    def book(self) -> None:
        members = {f"{role}_email": self.member_email for role in ("host", "setter", "triager")}
        body = booking_payload(
            external_reference=f"ref-{self.random.randint(1, 10**9)}",
            schedule_time=self.time().isoformat(),
            lead_email=self.email(known=60),
            event_type_name=self.random.choice(EVENT_TYPES),
            **self.some(
                40,
                {
                    **members,
                    "lead_first_name": self.word,
                    "lead_phone": partial(self.random.choice, PHONES),
                    "meeting_url": self.url,
                    "notes": self.word,
                },
            ),
        )
        self.bookings.append(body)
        self.expect(self.api.post("/api/external/appointments", body), 201)

    def member_email(self) -> str:
        return str(self.member().user.email)

    def book_again(self) -> None:
        body = dict(self.random.choice(self.bookings))
        if self.chance(30):
            body["schedule_time"] = self.time().isoformat()
        self.expect(self.api.post("/api/external/appointments", body), 200, 409)

    def cancel(self) -> None:
        body = {"external_reference": self.random.choice(self.bookings)["external_reference"]}
        if self.chance(50):
            body["notes"] = self.word()
        self.expect(self.api.post("/api/external/appointments/cancel", body), 200)
        if self.chance(40):
            self.expect(self.api.post("/api/external/appointments/cancel", body | {"notes": self.word()}), 200)

    def reschedule(self) -> None:
        """Reschedule an appointment by one of its references, sometimes under a new one, and sometimes twice."""
        body = {
            "external_reference": self.random.choice(self.bookings)["external_reference"],
            "schedule_time": self.time().isoformat(),
            **self.some(50, {"meeting_url": self.url, "notes": self.word, "reason": self.word}),
        }
        if self.chance(50):
            body["new_external_reference"] = f"ref-{self.random.randint(1, 10**9)}"
            self.bookings.append({**self.random.choice(self.bookings), **body})
        for _ in range(self.random.randint(1, 2)):
            self.expect(self.api.post("/api/external/appointments/reschedule", body), 200)

    def submit(self) -> None:
        traffic = {"utm_source": self.word, "utm_campaign": self.word, "utm_content": lambda: self.member().user_id}
        body = opt_in_payload(
            email=self.email(known=50),
            first_name=self.word(),
            source=self.random.choice(["LANDING_PAGE", "WEBINAR", "MANUAL"]),
            external_reference=f"form-{self.random.randint(1, 10**9)}",
            traffic=self.some(40, traffic),
            questions_answers=[{"question": self.word(), "answer": self.word()}] * self.random.randint(0, 2),
            **self.some(40, {"last_name": self.word, "provider_form_name": self.word}),
        )
        if self.chance(30):
            body |= {"phone_e164": "+14155552671", "phone_country": "US"}
        self.submissions.append(body)
        self.expect(self.api.post("/api/opt-in/submit", body), 200, 201)

    def submit_again(self) -> None:
        self.expect(self.api.post("/api/opt-in/submit", self.random.choice(self.submissions)), 200)

    def set_lead_status(self) -> None:
        path = f"/api/external/leads/{self.row(Lead).pk}/status"
        self.expect(self.api.patch(path, {"status_id": str(self.status().pk)}), 200)

    def update_appointment(self) -> None:
        roles = ("host", "setter", "triager")
        members = {f"{role}_email": lambda: self.chance(70) and self.member_email() for role in roles}
        changes = self.some(
            40,
            {
                **members,
                "meeting_url": lambda: self.chance(70) and self.url(),
                "recording_url": self.url,
                "call_category": lambda: self.random.choice(["SALES_CALL", "COACHING_CALL", "TRIAGE_CALL"]),
                "status_id": lambda: str(self.status().pk),
            },
        )
        if self.chance(40):
            changes["custom_fields"] = self.json_value_of("APPOINTMENT")
        self.update(self.appointment(), changes)

    def update_lead(self) -> None:
        changes = self.some(
            40,
            {
                "first_name": self.word,
                "last_name": lambda: self.chance(70) and self.word(),
                "setter_email": lambda: self.chance(70) and self.member_email(),
                "external_reference": lambda: self.chance(70) and f"patched-{self.random.randint(1, 10**9)}",
            },
        )
        if self.chance(40):
            changes |= (
                {"phone_e164": "+14155552671", "phone_country": "US"} if self.chance(70) else {"phone_e164": None}
            )
        if self.chance(40):
            changes["custom_fields"] = self.json_value_of("LEAD")
        self.update(self.row(Lead), changes)

    def import_rows(self) -> None:
        """Import leads, some of them known or repeated, and bookings of theirs; some rows fail."""
        leads = [
            {"email": self.email(known=50), **self.some(40, {"last_name": self.word, "source": self.word})}
            for _ in range(self.random.randint(1, 4))
        ]
        leads.append({"email": "nobody", "external_reference": f"crm-{self.random.randint(1, 20)}"})
        leads[0]["external_reference"] = f"crm-{self.random.randint(1, 20)}"
        bookings = [
            booking_payload(
                external_reference=f"ref-{self.random.randint(1, 10**9)}",
                schedule_time=self.time().isoformat(),
                lead_email=lead["email"],
                event_type_name=self.random.choice(EVENT_TYPES),
            )
            for lead in leads
        ]
        self.bookings += bookings[:-1]
        for path, rows in (("leads", leads), ("appointments", bookings)):
            response = self.api.post(f"/api/external/{path}/import", {"rows": rows})
            self.expect(response, 200)
            assert response.json()["data"]["rows"][-1]["status"] == 400

    def import_file_and_undo(self) -> None:
        """Import a file with new and known appointments of new and known leads, change something, and undo it."""
        header = ["reference", "lead e-mail", "time", "event type", "meeting url", "note"]
        rows = [
            [f"file-{self.random.randint(1, 10**9)}", email, self.time().isoformat(), "Demo", "", self.word()]
            for email in (f"file{self.random.randint(1, 10**9)}@example.com", self.email(known=90))
        ]
        known = Appointment.objects.of(self.organization).filter(source="MANUAL", external_reference__isnull=False)
        known = known.exclude(lead__email__endswith="@erased.invalid").order_by("pk")[:2]
        rows += [[row.external_reference, "", self.time().isoformat(), "", self.url(), self.word()] for row in known]
        page = Page(self.admin, self.organization, csv_file(header, *rows), kind="APPOINTMENTS").run()
        if self.chance(50):
            self.update_appointment()
        page.press("undo")
        assert page.row.undone["deleted"] >= 1

    def update(self, row: Any, changes: dict[str, Any]) -> None:
        """Send the changes to the row; False stands for null."""
        body = {name: None if value is False else value for name, value in changes.items()}
        path = f"/api/external/{type(row).__name__.lower()}s/{row.pk}"
        self.expect(self.api.patch(path, body, if_match="*"), 200)

    def write_note(self) -> None:
        """Add a note to an appointment and to a lead, change it, and sometimes delete it."""
        for row in (self.appointment(), self.row(Lead)):
            path = f"/api/external/{type(row).__name__.lower()}s/{row.pk}/notes"
            response = self.api.post(path, {"note": self.word(), "external_reference": str(uuid7())})
            self.expect(response, 201)
            path = f"{path}/{response.json()['data']['id']}"
            self.expect(self.api.patch(path, {"note": self.word()}), 200)
            if self.chance(60):
                self.expect(self.api.delete(path), 200)

    def json_value_of(self, entity: str) -> dict[str, Any]:
        """Return a new value, or none, for one of the custom fields, by its key."""
        if not CustomField.objects.of(self.organization).filter(entity=entity).exists():
            return {}
        field = self.row(CustomField, entity=entity)
        values = {"NUMBER": self.random.randint(0, 9), "DATE": "2026-12-24", "BOOLEAN": self.chance(50)}
        return {field.key: values.get(field.type, self.word()) if self.chance(80) else None}

    # The admin

    def post_form(self, client: Client, url: str, **changes: Any) -> None:
        data = {name: "" if value is None else value for name, value in changes.items()}
        # Appointments overlap at random times, and the form would ask whether to save nevertheless.
        response = client.post(url, form_data(client, url, **data, book_anyway="on"))
        assert response.status_code == 302, (url, data, form_errors(response))

    def save_page(self, row: Any, **changes: Any) -> None:
        """Save the row's page with these changes."""
        self.post_form(self.admin, admin_url(type(row), "change", row.pk), **changes)

    def press(self, button: str, appointment: Appointment, **data: Any) -> None:
        """Confirm a button of an appointment's page."""
        response = self.admin.post(admin_url(Appointment, button, appointment.pk), data)
        if response.status_code != 302:  # someone else has canceled it, and the text that was typed is kept
            assert response.context["form"].errors == {"__all__": ["This is not possible at the moment."]}

    def moment(self, name: str) -> dict[str, str]:
        """Return a date and time as a form has them."""
        time = self.time()
        return {f"{name}_0": f"{time:%Y-%m-%d}", f"{name}_1": f"{time:%H:%M:%S}"}

    def custom_value(self, field: CustomField) -> str:
        return {"NUMBER": "5", "DATE": "2026-12-24", "BOOLEAN": "true"}.get(field.type, self.word())

    def custom_value_of(self, entity: str) -> dict[str, str]:
        """Return a value for one of the custom fields, as the form has it."""
        if not CustomField.objects.of(self.organization).filter(entity=entity).exists():
            return {}
        field = self.row(CustomField, entity=entity)
        return {f"custom_{field.pk.hex}": self.custom_value(field)}

    def edit_lead_page(self) -> None:
        changes = self.some(
            40,
            {
                "first_name": self.word,
                "last_name": self.word,
                "phone_e164": lambda: self.random.choice(["+493012345678", "+14155552671", ""]),
                "setter": lambda: self.member().pk,
                "status": lambda: self.status().pk,
            },
        )
        if self.chance(40):
            changes |= {"next_touch_point_type": "CALL", **self.moment("next_touch_point_at")}
        if self.chance(40):
            changes |= self.custom_value_of("LEAD")
        self.save_page(self.row(Lead), **changes)

    def edit_appointment_page(self) -> None:
        members = {role: lambda: self.member().pk for role in ("host", "setter", "triager")}
        changes = self.some(
            30,
            {
                **members,
                "meeting_url": self.url,
                "recording_url": self.url,
                "call_category": lambda: self.random.choice(["SALES_CALL", "COACHING_CALL", "TRIAGE_CALL"]),
                "event_type": lambda: self.row(EventType).pk,
                "outcome": lambda: self.status().pk,
            },
        )
        if self.chance(30):
            changes |= self.moment("schedule_time")
        if self.chance(40):
            changes |= self.custom_value_of("APPOINTMENT")
        self.save_page(self.appointment(), **changes)

    def set_back_to_booked(self) -> None:
        booked = self.row(Status, role="APPOINTMENT_BOOKED")
        appointment = self.row(Appointment, outcome__role="CANCELED") if self.has_canceled() else self.appointment()
        self.save_page(appointment, outcome=booked.pk)

    def has_canceled(self) -> bool:
        return bool(Appointment.objects.of(self.organization).filter(outcome__role="CANCELED").exists())

    def cancel_page(self) -> None:
        appointment = self.appointment()
        self.press("cancel", appointment, notes=self.word() if self.chance(50) else "")

    def add_note_page(self) -> None:
        mention = f" @{self.member()}" if self.chance(50) else ""
        self.press("add_note", self.appointment(), note=f"{self.word()}{mention}")

    def change_note_page(self) -> None:
        """Change a note of an appointment or a lead, mention somebody or nobody in it, and sometimes delete it."""
        self.admin.post(admin_url(Lead, "add_note", self.row(Lead).pk), {"note": self.word()})
        for model in (Note, LeadNote):
            if model.objects.of(self.organization).exists():
                note = self.row(model)
                self.save_page(note, note=f"{self.word()} @{self.member() if self.chance(50) else ''}")
                if model is LeadNote or self.chance(30):
                    self.admin.post(admin_url(model, "delete", note.pk), {"post": "yes"})

    def add_analysis_page(self) -> None:
        """Add a call analysis to an appointment, or change the one that it has."""
        appointment = self.appointment()
        values = {"ai_generated_title": self.word(), "ai_confidence_score": self.random.randint(0, 4) / 4}
        analysis = CallAnalysis.objects.of(self.organization).filter(appointment=appointment).first()
        if analysis:
            self.save_page(analysis, **values)
            return
        texts = {"call_analysis_call_id": "call-1", "ai_rationale": self.word(), "ai_suggested_outcome": "Won"}
        self.post_form(self.admin, admin_url(CallAnalysis, "add"), appointment=appointment.pk, **values, **texts)

    def rename_event_type(self) -> None:
        event_type = self.row(EventType)
        name = f"{event_type.name.split(' #')[0]} #{self.random.randint(1, 10**6)}"
        changes = {"name": name} | self.some(30, {"owner_name": self.word, "provider": lambda: "SCHEDULER_A"})
        self.save_page(event_type, **changes)

    def rename_status(self) -> None:
        status = self.row(Status)
        name = f"{status.name.split(' #')[0]} #{self.random.randint(1, 10**6)}"
        self.save_page(status, name=name, description=self.word() if self.chance(50) else "")

    def add_status(self) -> None:
        """Add a status that is no default, so that it can be retired."""
        colors = {"text_color": "#000000", "bg_color": "#ffffff"}
        name = f"Status {self.random.randint(1, 10**9)}"
        self.post_form(self.admin, admin_url(Status, "add"), name=name, type="BOTH", role="FOLLOW_UP", **colors)

    def retire_status(self) -> None:
        """Retire a status, or bring it back."""
        status = self.row(Status, is_lead_default=False)
        self.save_page(status, is_active="" if status.is_active else "on")

    def delete_status(self) -> None:
        """Delete a status that nothing has used, a new one."""
        self.add_status()
        status = Status.objects.of(self.organization).latest("created_at", "pk")
        response = self.admin.post(admin_url(Status, "delete", status.pk), {"post": "yes"})
        assert response.status_code == 302

    def rename_member(self) -> None:
        user = User.objects.get(pk=self.member().user_id)
        url = admin_url(User, "change", user.pk)
        self.post_form(self.operator, url, first_name=self.word(), **self.some(50, {"last_name": self.word}))

    def change_role(self) -> None:
        member = self.row(Membership, role__in=["CLOSER", "SETTER"])
        self.save_page(member, role=self.random.choice(["CLOSER", "SETTER"]))

    def change_custom_field(self) -> None:
        if CustomField.objects.of(self.organization).exists():
            self.save_page(self.row(CustomField), label=self.word(), position=self.random.randint(0, 9))

    def add_custom_field(self) -> None:
        values = {"key": f"key{self.random.randint(1, 10**9)}", "label": self.word(), "position": 5}
        kind = {
            "entity": self.random.choice(["LEAD", "APPOINTMENT"]),
            "type": self.random.choice(["TEXT", "NUMBER", "DATE", "BOOLEAN"]),
        }
        self.post_form(self.admin, admin_url(CustomField, "add"), **kind, **values)

    def delete_custom_field(self) -> None:
        if CustomField.objects.of(self.organization).count() < 3:
            return
        field = self.row(CustomField)
        response = self.admin.post(admin_url(CustomField, "delete", field.pk), {"post": "yes"})
        assert response.status_code == 302

    def add_lead_page(self) -> None:
        names = {"first_name": self.word(), "setter": self.member().pk}
        self.post_form(self.admin, admin_url(Lead, "add"), email=self.email(known=0), **names)

    def book_page(self) -> None:
        self.post_form(
            self.admin,
            admin_url(Appointment, "add"),
            lead_email=self.email(known=0),
            event_type=self.row(EventType).pk,
            host=self.member().pk,
            notes=self.word(),
            **self.moment("schedule_time"),
        )

    # The services

    def common(self) -> dict[str, Any]:
        return {"organization": self.organization, "actor": SYSTEM}

    def import_one(self) -> None:
        """Report an appointment as a provider's sync does: a new one, or a change of a known one."""
        reference = f"sync-{self.random.randint(1, 12)}"
        fields = {
            "host_email": self.member_email,
            "meeting_url": self.url,
            "notes": self.word,
            "outcome": lambda: self.random.choice(IMPORTED),
        }
        import_appointment(
            **self.common(),
            provider=Provider.SCHEDULER_A,
            external_reference=reference,
            schedule_time=self.time(),
            lead_email=f"{reference}@example.com",
            event_type_name="Synced call",
            **self.some(50, fields),
        )

    def sync_booking(self) -> None:
        """Send a scheduler's state, often older than the stored one, or of a booking that replaces another."""
        number = self.random.randint(1, 12)
        fields = {
            "previous_reference": lambda: f"put-{number - 1}",
            "questions_answers": lambda: [{"question": "Why?", "answer": self.word()}],
            "host_email": self.member_email,
            "duration_minutes": lambda: self.random.randint(5, 90),
        }
        body = sync_payload(
            changed_at=self.time().isoformat(),
            state=self.random.choice(["BOOKED", "BOOKED", "CANCELED", "NO_SHOW"]),
            schedule_time=self.time().isoformat(),
            **self.some(30, fields),
        )
        self.api.put(f"/api/external/sync/SCHEDULER_B/appointments/put-{number}", body)

    def sync_form(self) -> None:
        reference, changed_at = f"form-{self.random.randint(1, 5)}", self.time()
        for time in (changed_at, changed_at + timedelta(minutes=1)):
            answers = [{"question": "Why?", "answer": self.word()}]
            body = synced_opt_in_payload(changed_at=time.isoformat(), questions_answers=answers)
            self.api.put(f"/api/external/sync/WEBINAR/opt-ins/{reference}", body)

    def reschedule_by_service(self) -> None:
        reschedule(**self.common(), appointment=self.appointment(), to=self.time())

    def change_outcome_by_service(self) -> None:
        edit_appointment(**self.common(), appointment=self.appointment(), status_id=self.status().pk)

    def edit_appointment_by_service(self) -> None:
        values = self.some(50, {"host": self.member, "meeting_url": self.url, "triager": lambda: None})
        edit_appointment(**self.common(), appointment=self.appointment(), **values)

    def create_note_by_service(self) -> None:
        note = {"text": self.word(), "id": uuid7(), "mentions": [self.member()]}
        create_note(**self.common(), appointment=self.appointment(), **note)

    def refresh_touch_points(self) -> None:
        refresh_touch_points(organization=self.organization)

    def edit_lead_by_service(self) -> None:
        values = self.some(50, {"last_name": self.word, "setter": self.member, "status": self.status})
        edit_lead(**self.common(), lead=self.row(Lead), **values)

    def add_lead_note_by_service(self) -> None:
        add_note(**self.common(), lead=self.row(Lead), text=self.word(), id=uuid7())

    def plan_next_steps(self) -> None:
        lead, due = self.row(Lead), timedelta(hours=self.random.randint(-5, 50))
        common = {**self.common(), "lead_id": lead.pk}
        set_next_step(**common, at=now() + due, type="CALL", note=self.word(), owner=self.member())
        if self.chance(60):
            step = self.random.choice(list(lead.next_steps.filter(done_at=None).order_by("pk")))
            finish_next_step(**common, step_id=step.pk)

    def hand_over_work(self) -> None:
        to = {kind: self.member() for kind in ("leads", "next_steps", "calls")}
        hand_over(**self.common(), member=self.member(), to=to)

    def merge_leads(self) -> None:
        """Merge two leads, and sometimes undo it at once."""
        ids = list(Lead.objects.of(self.organization).order_by("pk").values_list("pk", flat=True))
        if len(ids) < 3:
            return
        keep, other = self.random.sample(ids, 2)
        values = [name for name in CHOICES if self.chance(30)]
        merge_leads(**self.common(), keep=keep, merge=other, values=values)
        if self.chance(40):
            self.clock.shift(timedelta(seconds=1))
            merge = LeadMerge.objects.of(self.organization).get(previous_id=other)
            undo_merge(**self.common(), merge_id=merge.pk)


# How often each change is chosen. The admin's pages take most of the time.
WEIGHTS = {
    "book": 14,
    "book_again": 3,
    "cancel": 7,
    "reschedule": 5,
    "submit": 12,
    "submit_again": 2,
    "set_lead_status": 8,
    "update_appointment": 6,
    "update_lead": 6,
    "import_rows": 2,
    "import_file_and_undo": 1,
    "write_note": 4,
    "edit_lead_page": 3,
    "edit_appointment_page": 5,
    "set_back_to_booked": 2,
    "cancel_page": 2,
    "add_note_page": 3,
    "change_note_page": 2,
    "add_analysis_page": 3,
    "rename_event_type": 2,
    "rename_status": 2,
    "add_status": 1,
    "retire_status": 2,
    "delete_status": 1,
    "rename_member": 2,
    "change_role": 1,
    "change_custom_field": 1,
    "add_custom_field": 1,
    "delete_custom_field": 1,
    "add_lead_page": 1,
    "book_page": 2,
    "import_one": 7,
    "sync_booking": 7,
    "sync_form": 4,
    "reschedule_by_service": 4,
    "change_outcome_by_service": 4,
    "edit_appointment_by_service": 4,
    "create_note_by_service": 3,
    "edit_lead_by_service": 4,
    "refresh_touch_points": 3,
    "plan_next_steps": 3,
    "hand_over_work": 1,
    "merge_leads": 2,
    "add_lead_note_by_service": 1,
}
