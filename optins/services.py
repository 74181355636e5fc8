"""Submitting opt-ins (interface 4.5)."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from leads.models import Lead
from leads.phones import Phone
from leads.services import announce, fill, find_or_create, first_line, keep, new_lead, source_named
from optins.events import CREATED
from optins.models import OptIn, QuestionAnswer
from organizations.actors import Actor
from organizations.models import Membership, Organization
from pipeline_backend.rows import Fixed, Slot, insert, settle_race
from statuses.models import Board, Role
from statuses.services import defaults
from webhooks.services import record

STORED: Fixed[tuple[UUID, UUID]] = Fixed(
    lambda: OptIn.objects.of(Slot("organization")).filter(source=Slot("source"), external_reference=Slot("reference")).values_list("pk", "lead_id")
)


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
        facts = {"phone": phone, "first_name": first_name, "last_name": last_name, "setter": setter_of(organization, visit.get("utm_content", ""))}
        lead, is_new = lead_of(organization, email, visit.get("utm_source") or source, facts)
        opt_in = OptIn(organization=organization, lead=lead, source=source, external_reference=external_reference, **form, **visit)
        answers = [QuestionAnswer(organization=organization, opt_in=opt_in, **answer) for answer in questions_answers or []]
        insert(opt_in, *answers, *([first_line(lead, actor=actor)] if is_new else []))
        if is_new:
            announce(lead, actor=actor)
        record(CREATED, opt_in, actor=actor)
        return Submission(opt_in.pk, lead.pk, is_new)

    return settle_race(attempt)


def already_there(organization: Organization, source: str, external_reference: str | None) -> Submission | None:
    """The stored record of this reference and source."""
    if external_reference is None:
        return None
    found = STORED.first(organization=organization.pk, source=source, reference=external_reference)
    return Submission(found[0], found[1], is_new_lead=False) if found else None


def lead_of(organization: Organization, email: str, source_name: str, facts: dict[str, Any]) -> tuple[Lead, bool]:
    """The submission's lead, locked, with its newest source and what the submission says."""
    source = source_named(organization=organization, name=source_name)
    status = defaults(organization, (Board.LEAD, Role.NEW_LEAD))[Board.LEAD, Role.NEW_LEAD]
    fresh = new_lead(organization=organization, email=email, status=status, source=source)
    fill(fresh, source=source, **facts)
    lead, is_new = find_or_create(fresh)
    if not is_new:
        fill(lead, source=source, **facts)
        keep(lead)
    return lead, is_new


def setter_of(organization: Organization, utm_content: str) -> Membership | None:
    """The active member whose user id the campaign carries; anything else is no reason to refuse (interface 4.5, rule 4)."""
    if not utm_content.startswith("user_"):
        return None
    members = Membership.objects.of(organization).filter(user_id=utm_content, is_active=True, user__is_active=True)
    member: Membership | None = members.first()
    return member
