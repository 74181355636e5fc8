"""Submits an opt-in, written in the most direct way; it writes the same rows as `optins.services`."""

from typing import Any

from benchmarks.plain_drf.booking import get_or_create_source, record_lead_created
from benchmarks.plain_drf.events import record_event
from benchmarks.plain_drf.serializers import OptInDetailSerializer
from leads.models import Lead, LeadStatusChange
from optins.models import OptIn, QuestionAnswer
from organizations.actors import Actor, actor_columns
from organizations.models import Organization
from statuses.models import Status


def submit(
    organization: Organization,
    actor: Actor,
    *,
    email: str,
    first_name: str,
    source: str,
    external_reference: str,
    questions_answers: list[dict[str, Any]],
    traffic: dict[str, str],
    last_name: str = "",
    phone: None = None,
    **form: Any,
) -> OptIn:
    """Save an opt-in with its answers and return it. Raises ValueError if the reference exists.

    The benchmark sends no phone number, so there is none to validate.
    """
    if OptIn.objects.of(organization).filter(source=source, external_reference=external_reference).exists():
        raise ValueError(external_reference)
    lead_source = get_or_create_source(organization, traffic.get("utm_source") or source)
    status = Status.objects.of(organization).get(role="NEW_LEAD", is_lead_default=True)
    lead: Lead | None = Lead.objects.of(organization).with_email(organization.pk, email).first()
    is_new = lead is None
    if lead is None:
        lead = Lead.objects.create(
            organization=organization,
            email=email,
            first_name=first_name,
            last_name=last_name,
            status=status,
            first_source=lead_source,
            last_source=lead_source,
        )
        LeadStatusChange.objects.create(organization=organization, lead=lead, to_status=status, **actor_columns(actor))
    opt_in: OptIn = OptIn.objects.create(
        organization=organization, lead=lead, source=source, external_reference=external_reference, **form, **traffic
    )
    for answer in questions_answers:
        QuestionAnswer.objects.create(organization=organization, opt_in=opt_in, **answer)
    lead.last_source = lead_source
    lead.save()
    if is_new:
        record_lead_created(lead, actor)
    record_event("opt_in.created", opt_in, OptInDetailSerializer(opt_in).data, actor)
    return opt_in
