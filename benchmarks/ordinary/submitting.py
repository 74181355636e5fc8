"""Submitting as one would write it first."""

from typing import Any

from benchmarks.ordinary.booking import announce, source_named
from benchmarks.ordinary.serializers import OptInDetailSerializer
from benchmarks.ordinary.telling import record
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
    """A new submission; references are new here, and nobody gives a phone."""
    if OptIn.objects.of(organization).filter(source=source, external_reference=external_reference).exists():
        raise ValueError(external_reference)
    named = source_named(organization, traffic.get("utm_source") or source)
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
            first_source=named,
            last_source=named,
        )
        LeadStatusChange.objects.create(organization=organization, lead=lead, to_status=status, **actor_columns(actor))
    opt_in: OptIn = OptIn.objects.create(
        organization=organization, lead=lead, source=source, external_reference=external_reference, **form, **traffic
    )
    for answer in questions_answers:
        QuestionAnswer.objects.create(organization=organization, opt_in=opt_in, **answer)
    lead.last_source = named
    lead.save()
    if is_new:
        announce(lead, actor)
    record("opt_in.created", opt_in, OptInDetailSerializer(opt_in).data, actor)
    return opt_in
