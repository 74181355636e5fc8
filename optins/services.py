"""Submitting opt-ins (interface 4.5)."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from leads.models import Lead, Source
from leads.phones import Phone
from leads.services import LEAD_ID, SOURCE, announce, fill, find_or_create, first_line, keep, new_lead, source_named
from optins.events import CREATED
from optins.models import OptIn, QuestionAnswer
from organizations.actors import Actor
from organizations.models import Membership, Organization
from pipeline_backend.rows import Fixed, Slot, Together, insert, settle_race
from statuses.models import Board, Role, Status
from statuses.services import DEFAULT_ON
from webhooks.services import record

STORED: Fixed[tuple[UUID, UUID]] = Fixed(
    lambda: OptIn.objects.of(Slot("organization")).filter(source=Slot("source"), external_reference=Slot("reference")).values_list("pk", "lead_id")
)
THERE = Together(STORED, DEFAULT_ON[Board.LEAD], SOURCE, LEAD_ID)


@dataclass(frozen=True)
class There:
    """What the organization has of what a submission needs, as `THERE` finds it. Nothing is locked: what is not there may come, and is found then."""

    stored: tuple[UUID, UUID] | None
    status: Status
    lead_source: Source | None
    lead_id: tuple[UUID] | None


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

    visit = traffic or {}
    named = visit.get("utm_source") or source

    def attempt() -> Submission:
        reference = {"source": source, "reference": external_reference}
        there = There(*THERE.first(organization=organization.pk, role=Role.NEW_LEAD.value, name=named, email=email, **reference))
        if there.stored:
            return Submission(*there.stored, is_new_lead=False)
        facts = {"phone": phone, "first_name": first_name, "last_name": last_name, "setter": setter_of(organization, visit.get("utm_content", ""))}
        lead, is_new = lead_of(organization, email, named, facts, there)
        opt_in = OptIn(organization=organization, lead=lead, source=source, external_reference=external_reference, **form, **visit)
        answers = [QuestionAnswer(organization=organization, opt_in=opt_in, **answer) for answer in questions_answers or []]
        insert(opt_in, *answers, *([first_line(lead, actor=actor)] if is_new else []))
        if is_new:
            announce(lead, actor=actor)
        record(CREATED, opt_in, actor=actor)
        return Submission(opt_in.pk, lead.pk, is_new)

    return settle_race(attempt)


def lead_of(organization: Organization, email: str, source_name: str, facts: dict[str, Any], there: There) -> tuple[Lead, bool]:
    """The submission's lead, locked, with its newest source and what the submission says."""
    source = there.lead_source or source_named(organization=organization, name=source_name)
    fresh = new_lead(organization=organization, email=email, status=there.status, source=source)
    fill(fresh, source=source, **facts)
    lead, is_new = find_or_create(fresh, is_known=there.lead_id is not None)
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
