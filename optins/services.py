"""Submitting opt-ins (interface 4.5)."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from leads.models import Lead
from leads.phones import Phone
from leads.services import announce, fill, find_or_create, source_named
from optins.events import CREATED
from optins.models import OptIn, QuestionAnswer
from organizations.actors import Actor
from organizations.models import Membership, Organization
from pipeline_backend.rows import settle_race
from statuses.models import Board, Role
from statuses.services import defaults
from webhooks.services import record


@dataclass(frozen=True)
class Submission:
    """What became of a submission."""

    opt_in_id: UUID
    lead_id: UUID
    is_new_lead: bool


def submit(
    *,
    organization: Organization,
    actor: Actor,
    email: str,
    first_name: str,
    source: str,
    last_name: str = "",
    phone: Phone | None = None,
    external_reference: str | None = None,
    traffic: dict[str, str] | None = None,
    questions_answers: list[dict[str, Any]] | None = None,
    **form: str,
) -> Submission:
    """Record a submission against its lead, which is made if new; a known reference answers with what is stored."""

    def attempt() -> Submission:
        known = already_there(organization, source, external_reference)
        if known:
            return known
        visit = traffic or {}
        lead, is_new = lead_of(organization, actor, email, visit.get("utm_source") or source)
        fill(
            lead,
            source=lead.last_source,
            phone=phone,
            first_name=first_name,
            last_name=last_name,
            setter=setter_of(organization, visit.get("utm_content", "")),
        )
        opt_in = OptIn.objects.create(organization=organization, lead=lead, source=source, external_reference=external_reference, **form, **visit)
        store_answers(opt_in, questions_answers or [])
        if is_new:
            announce(lead, actor=actor)
        record(CREATED, opt_in, actor=actor)
        return Submission(opt_in.pk, lead.pk, is_new)

    return settle_race(attempt)


def already_there(organization: Organization, source: str, external_reference: str | None) -> Submission | None:
    """The stored record of this reference and source."""
    if external_reference is None:
        return None
    stored = OptIn.objects.of(organization).filter(source=source, external_reference=external_reference)
    found = stored.values_list("pk", "lead_id").first()
    return Submission(found[0], found[1], is_new_lead=False) if found else None


def lead_of(organization: Organization, actor: Actor, email: str, source_name: str) -> tuple[Lead, bool]:
    """The submission's lead, locked, with its newest source."""
    source = source_named(organization=organization, name=source_name)
    status = defaults(organization, (Board.LEAD, Role.NEW_LEAD))[Board.LEAD, Role.NEW_LEAD]
    lead, is_new = find_or_create(organization=organization, actor=actor, email=email, status=status, source=source)
    lead.last_source = source
    return lead, is_new


def setter_of(organization: Organization, utm_content: str) -> Membership | None:
    """The active member whose user id the campaign carries; anything else is no reason to refuse (interface 4.5, rule 4)."""
    if not utm_content.startswith("user_"):
        return None
    members = Membership.objects.of(organization).filter(user_id=utm_content, is_active=True, user__is_active=True)
    member: Membership | None = members.first()
    return member


def store_answers(opt_in: OptIn, answers: list[dict[str, Any]]) -> None:
    """The answers, in one statement."""
    QuestionAnswer.unscoped.bulk_create(QuestionAnswer(organization=opt_in.organization, opt_in=opt_in, **answer) for answer in answers)
