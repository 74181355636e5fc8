"""Sample data: an organization with at least one row of every model."""

from uuid import UUID

from accounts.invitations import invite
from appointments.models import Appointment, ChangedDay, ChangedLead, DayCount, DeletedNote, FormerReference
from appointments.services import edit_appointment
from foundation.db.timestamps import now
from leads.duplicates import search_batch
from leads.imports.models import Import, ImportColumn, ImportRow, ImportTurn, ImportUndo
from leads.merging import merge_leads
from leads.models import DeletedLeadNote, Lead, LeadNote, NextStep, PossibleDuplicate
from leads.privacy.models import ErasedReference, Erasure, LeadRetention, UndoneMerge
from notifications.lead_messages import STANDARD_TEXTS
from notifications.models import LeadMessage
from notifications.services import set_muted_kinds
from organizations.actors import SYSTEM, actor_columns
from organizations.models import MemberRole, Organization, SavedView
from tests.factories import (
    make_analysis,
    make_api,
    make_custom_field,
    make_event_type,
    make_member,
    make_note,
    make_status,
)
from webhooks.models import Attempt, Delivery, ReceivingHost, Replay
from webhooks.services import add_endpoint


def create_sample_data(organization: Organization, word: str) -> Appointment:
    """Create at least one row of every model but `Replay`, each with the word in a text that pages show.

    Returns the appointment.
    """
    add_endpoint(organization=organization, url=f"https://hooks.{word}.example/in", description=f"{word} receiver")
    ReceivingHost.objects.create(organization=organization, host=f"hooks.{word}.example")
    api, email = make_api(organization), f"{word}@leads.example"
    make_event_type(organization, f"{word} call")
    make_status(organization, f"{word} status")
    make_custom_field(organization, "LEAD", f"{word}_field")
    make_custom_field(organization, "APPOINTMENT", f"{word}_field")
    member = make_member(organization, f"{word}@members.example", role=MemberRole.CLOSER, first_name=word.capitalize())
    set_muted_kinds(member=member, kinds=[])
    # One of each kind at most, and some tests call this several times.
    kinds = [*STANDARD_TEXTS][::-1]
    kind, message = kinds[LeadMessage.objects.of(organization).count() % 4], {"subject": f"{word} call", "text": word}
    LeadMessage.objects.of(organization).get_or_create(organization=organization, kind=kind, defaults=message)
    invite(organization=organization, email=f"{word}@invited.example", role=MemberRole.SETTER, invited_by=None)
    answers = [{"question": f"{word}?", "answer": "Yes", "position": 1}]
    api.submit(
        email=email, first_name=word.capitalize(), questions_answers=answers, traffic={"utm_source": f"{word} campaign"}
    )
    id = api.book(
        external_reference=word,
        lead_email=email,
        event_type_name=f"{word} call",
        notes=f"{word} note",
        host_email=f"{word}@members.example",
    ).json()["data"]["id"]
    make_note(organization, id, f"{word} second note")
    FormerReference.objects.create(
        organization=organization, appointment_id=id, source="MANUAL", external_reference=f"{word}-1", booked_for=now()
    )
    body = {"external_reference": f"{word}-2", "if_unknown": "remember"}
    api.post("/api/external/appointments/cancel", body, idempotency_key=word)
    lead = Lead.objects.of(organization).get(email=email)
    DeletedNote.objects.create(organization=organization, appointment_id=id)
    DeletedLeadNote.objects.create(organization=organization, lead=lead)
    LeadNote.objects.create(organization=organization, lead=lead, note=f"{word} lead note")
    step = {"lead": lead, "owner": member, "at": now(), "type": "CALL", "note": f"{word} step", "done_at": now()}
    NextStep.objects.create(organization=organization, **step, **actor_columns(SYSTEM))
    edit_appointment(
        organization=organization,
        actor=SYSTEM,
        appointment=Appointment.objects.of(organization).get(pk=id),
        call_category="TRIAGE_CALL",
    )
    other = api.submit(email=f"other@{word}.example").json()["data"]["lead_id"]
    merge_leads(organization=organization, actor=SYSTEM, keep=lead.pk, merge=UUID(other))
    # With itself: tests expect one lead.
    PossibleDuplicate.objects.create(organization=organization, first=lead, second=lead, reasons=1)
    search_batch(organization=organization)
    make_analysis(organization, id, ai_generated_title=f"{word} analysis")
    for delivery in Delivery.objects.of(organization):
        Attempt.objects.create(organization=organization, delivery=delivery, duration_ms=5, status_code=200)
    file_import = Import.objects.create(
        organization=organization,
        file_name=f"{word}.csv",
        state="CHECKED",
        header=[f"{word} column"],
        mapping=["email"],
        counts={"REFUSED": 1},
        total=1,
    )
    ImportRow.objects.create(
        organization=organization, file_import=file_import, number=2, cells=[word], verdict="REFUSED"
    )
    ImportUndo.objects.create(
        organization=organization,
        file_import=file_import,
        position=2,
        subject_type="appointments.appointment",
        subject_id=id,
        columns={"meeting_url": [word, None]},
    )
    ImportColumn.objects.create(organization=organization, kind="LEADS", name=f"{word} column", field="email")
    ImportTurn.objects.of(organization).get_or_create(defaults={"organization": organization, "expires_at": now()})
    lead_id = Appointment.objects.of(organization).get(pk=id).lead_id
    Erasure.objects.create(organization=organization, lead_id=lead_id, finished_at=now(), **actor_columns(SYSTEM))
    ErasedReference.objects.create(organization=organization, subject_id=id, hash=id)
    UndoneMerge.objects.create(
        organization=organization, lead_id=lead_id, subject_ids=[lead_id], began_at=now(), ended_at=now()
    )
    LeadRetention.objects.of(organization).get_or_create(defaults={"organization": organization, "next_run_at": now()})
    DayCount.objects.create(organization=organization, day=now().date(), dimension="host", key=word)
    ChangedDay.objects.create(organization=organization, day=now().date())
    ChangedLead.objects.create(organization=organization, lead_id=lead_id)
    SavedView.objects.create(organization=organization, page="leads.lead", name=f"{word} view", query="view=all")
    return Appointment.objects.of(organization).get(pk=id)


def create_replays(organization: Organization) -> None:
    """Create a replay for each delivery."""
    for delivery in Delivery.objects.of(organization):
        delivery.replay = Replay.objects.create(
            organization=organization, endpoint_id=delivery.endpoint_id, count=1, **actor_columns(SYSTEM)
        )
        delivery.save()
