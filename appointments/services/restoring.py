"""Storing changes of many appointments at once; undoing an import restores former values with it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from uuid import UUID

from appointments.models import Appointment, OutcomeChange
from appointments.serializers import AppointmentDetailSerializer
from appointments.services.changes import effects_of, prepare_for_lead
from appointments.services.leads import update_leads
from foundation.db.writes import insert_all
from leads.models import Lead
from notifications.services import cancel_lead_mails
from organizations.actors import Actor, actor_columns
from organizations.models import Organization
from organizations.versions import save_versions
from statuses.models import Status
from webhooks.events import record_events
from webhooks.topics import Topic


def save_appointments(
    organization: Organization,
    appointments: Sequence[Appointment],
    previous: Mapping[UUID, Status | None],
    actor: Actor,
) -> None:
    """Store changes of locked appointments as `save_appointment` does, without notifying anyone.

    `previous` has the outcomes before the changes. The leads keep their statuses. Another time or outcome cancels
    unsent e-mails to the lead, and locks the lead.
    """
    topics: dict[Topic, list[Appointment]] = defaultdict(list)
    history, moved, lead_ids = [], [], set()
    for appointment in appointments:
        former = previous[appointment.pk]
        effects = effects_of(appointment, former)
        prepare_for_lead(appointment, effects, notifies_lead=False)
        if not appointment.is_changed():
            # Only unversioned columns may have changed, which no event shows.
            appointment.save_columns()
            continue
        topics[effects.topic].append(appointment)
        if appointment.outcome and appointment.outcome != former:
            columns = {"organization": organization, "appointment": appointment, **actor_columns(actor)}
            history.append(OutcomeChange(from_status=former, to_status=appointment.outcome, **columns))
        if appointment.is_changed("schedule_time", "outcome_id"):
            moved.append(appointment.pk)
            lead_ids.add(appointment.lead_id)
    changed = [appointment for group in topics.values() for appointment in group]
    ids = [appointment.pk for appointment in changed]
    before = dict(AppointmentDetailSerializer.query_by_ids().all(organization=organization.pk, ids=ids))
    save_versions(changed)
    insert_all(*history)
    cancel_lead_mails(organization=organization, subject_ids=moved)
    leads = Lead.objects.of(organization).for_update().filter(pk__in=lead_ids).order_by("pk")
    update_leads(organization, list(leads), actor)
    for topic, group in topics.items():
        record_events(topic, organization, [row.pk for row in group], actor=actor, before=before)
