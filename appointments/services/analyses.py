"""The service that stores call analyses for the tools that make them (docs/interface.md, A43 to A46)."""

from datetime import datetime, timedelta
from typing import Any, Required, TypedDict
from uuid import UUID

from django.db import connection
from django.db.models import DateTimeField, DurationField, ExpressionWrapper, F, Value
from django.db.models.functions import Greatest, Lower

from appointments.models import Appointment, CallAnalysis
from appointments.serializers import AppointmentDetailSerializer, CallAnalysisSerializer
from appointments.services.changes import get_for_update
from appointments.services.configuration import save_analysis
from appointments.topics import UPDATED
from foundation.api.emails import spellings
from foundation.api.exceptions import Conflict, ResourceNotFound, ValidationFailed
from foundation.api.sql_serializers import Json
from foundation.db.retry import atomic_with_retry
from leads.models import Lead
from leads.privacy.history import forget_all_history
from leads.services import check_not_erased
from organizations.actors import Actor
from organizations.models import Membership, Organization
from webhooks.events import record_event

MATCH_WINDOW = timedelta(hours=1)  # how far a call's start may be from the appointment's time
MAX_LISTED = 10  # appointments that a conflict lists

# No unique constraint: staff may have entered one call's id at several appointments.
LOCK_CALL = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"


class CallMatch(TypedDict, total=False):
    host_email: Required[str]
    started_at: Required[datetime]
    lead_email: str
    meeting_url: str


@atomic_with_retry
def put_analysis(
    *,
    organization: Organization,
    actor: Actor,
    call_id: str,
    appointment_id: UUID | None = None,
    external_reference: str = "",
    match: CallMatch | None = None,
    **values: Any,
) -> tuple[Json | None, bool]:
    """Store the analysis of a call as `save_analysis` does; return its JSON, and whether it is new.

    A known call's analysis is replaced; `match` finds an appointment only for a new call. Raises as
    `find_appointment_id` does, and Conflict if the appointment has another call's analysis, or its lead was erased.
    Locks the call's id, then the appointments that get or lose the analysis.
    """
    with connection.cursor() as cursor:
        cursor.execute(LOCK_CALL, [f"call-analysis {organization.pk} {call_id}"])
    analyses = CallAnalysis.objects.of(organization)
    of_call = analyses.filter(call_analysis_call_id=call_id).order_by("created_at", "pk")
    known_id = of_call.values_list("appointment_id", flat=True).first()
    if known_id and not (appointment_id or external_reference):
        target_id = known_id
    else:
        target_id = find_appointment_id(organization, appointment_id, external_reference, match)
    appointments = Appointment.objects.of(organization).filter(pk__in={target_id, known_id} - {None})
    list(appointments.for_update().order_by("pk").values_list("pk"))
    check_not_erased(Lead.objects.of(organization).get(appointments=target_id))

    present = analyses.filter(appointment=target_id).first()
    if present and present.call_analysis_call_id != call_id:
        raise Conflict(f"The appointment has the analysis of another call: {present.call_analysis_call_id}")
    known = present or of_call.first()
    analysis = known or CallAnalysis(appointment_id=target_id, call_analysis_call_id=call_id)
    if known and known.appointment_id != target_id:
        analysis = CallAnalysis(
            id=known.pk, created_at=known.created_at, appointment_id=target_id, call_analysis_call_id=call_id
        )
        remove_analysis(organization, actor, known)
    for name, value in values.items():
        setattr(analysis, name, value)
    save_analysis(organization=organization, actor=actor, analysis=analysis)
    return CallAnalysisSerializer.get(organization, analysis.pk), known is None


def remove_analysis(organization: Organization, actor: Actor, analysis: CallAnalysis) -> None:
    appointment = get_for_update(organization, analysis.appointment_id)
    before = AppointmentDetailSerializer.get_text(organization, appointment.pk)
    CallAnalysis.objects.of(organization).filter(pk=analysis.pk).delete()
    # The history would keep its title when the lead is erased, because the analysis with this id is another lead's now.
    forget_all_history([analysis.pk])
    appointment.save_version()
    record_event(UPDATED, appointment, actor=actor, before=before)


def find_appointment_id(
    organization: Organization, appointment_id: UUID | None, external_reference: str, match: CallMatch | None
) -> UUID:
    """Return the id of the one appointment that the id, else the reference, else the match finds.

    Raises ValidationFailed for an unknown id, ResourceNotFound if there is none, and Conflict, which lists the ids, if
    several have the reference or match equally well.
    """
    appointments = Appointment.objects.of(organization)
    if appointment_id:
        if not appointments.filter(pk=appointment_id).exists():
            raise ValidationFailed({"appointment_id": ["is not known in the organization"]})
        return appointment_id
    if external_reference:
        found = appointments.with_reference(external_reference).order_by("pk")
        ids = list(found.values_list("pk", flat=True)[:MAX_LISTED])
        problem = f"No appointment found for external_reference {external_reference}"
    else:
        ids = find_nearest(organization, **match) if match else []
        problem = "No appointment of the host within an hour of started_at matches"
    if not ids:
        raise ResourceNotFound(problem)
    if len(ids) > 1:
        raise Conflict(f"Several appointments match equally well: {', '.join(map(str, ids))}; send appointment_id")
    id: UUID = ids[0]
    return id


def find_nearest(
    organization: Organization, *, host_email: str, started_at: datetime, lead_email: str = "", meeting_url: str = ""
) -> list[UUID]:
    """Return the ids of the host's appointments, without canceled ones, that are nearest to the time, all equally."""
    members = Membership.objects.of(organization).alias(lower_email=Lower("user__email"))
    hosts = members.filter(lower_email__in=spellings(host_email)).values("pk")
    window = (started_at - MATCH_WINDOW, started_at + MATCH_WINDOW)
    rows = Appointment.objects.of(organization).filter(is_called_off=False)
    rows = rows.filter(host__in=hosts, schedule_time__range=window)
    if lead_email:
        rows = rows.filter(lead__in=Lead.objects.of(organization).with_email(organization.pk, lead_email).values("pk"))
    if meeting_url:
        rows = rows.filter(meeting_url=meeting_url)
    time, start = F("schedule_time"), Value(started_at, DateTimeField())
    differences = (ExpressionWrapper(each, DurationField()) for each in (time - start, start - time))
    nearest = rows.annotate(distance=Greatest(*differences)).order_by("distance", "pk")
    found = list(nearest.values_list("pk", "distance")[:MAX_LISTED])
    return [id for id, distance in found if distance == found[0][1]]
