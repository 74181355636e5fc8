"""Submitting opt-ins (interface 4.5)."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from leads.models import Lead, Source
from leads.phones import Phone
from leads.services import (
    LEAD_ID_BY_EMAIL,
    SOURCE_BY_NAME,
    build_lead,
    get_or_create_lead,
    get_or_create_source,
    initial_status_change,
    merge_submission,
    record_lead_created,
    save_lead,
)
from optins.models import OptIn, QuestionAnswer
from optins.topics import CREATED
from organizations.actors import Actor
from organizations.models import Membership, Organization
from pipeline_backend.db.compiled import CombinedQuery, CompiledQuery, Param
from pipeline_backend.db.retry import atomic_with_retry
from pipeline_backend.db.writes import insert_all
from statuses.models import Board, Role, Status
from statuses.services import DEFAULT_STATUS_BY_ROLE
from webhooks.services import record_event

OPT_IN_BY_REFERENCE: CompiledQuery[tuple[UUID, UUID]] = CompiledQuery(
    lambda: (
        OptIn.objects.of(Param("organization"))
        .filter(source=Param("source"), external_reference=Param("reference"))
        .values_list("pk", "lead_id")
    )
)
CONTEXT_QUERY = CombinedQuery(OPT_IN_BY_REFERENCE, DEFAULT_STATUS_BY_ROLE[Board.LEAD], SOURCE_BY_NAME, LEAD_ID_BY_EMAIL)


@dataclass(frozen=True)
class SubmissionContext:
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
        there = SubmissionContext(
            *CONTEXT_QUERY.first(
                organization=organization.pk, role=Role.NEW_LEAD.value, name=named, email=email, **reference
            )
        )
        if there.stored:
            return Submission(*there.stored, is_new_lead=False)
        facts = {
            "phone": phone,
            "first_name": first_name,
            "last_name": last_name,
            "setter": find_setter(organization, visit.get("utm_content", "")),
        }
        lead, is_new = resolve_lead(organization, email, named, facts, there)
        opt_in = OptIn(
            organization=organization, lead=lead, source=source, external_reference=external_reference, **form, **visit
        )
        answers = [
            QuestionAnswer(organization=organization, opt_in=opt_in, **answer) for answer in questions_answers or []
        ]
        insert_all(opt_in, *answers, *([initial_status_change(lead, actor=actor)] if is_new else []))
        if is_new:
            record_lead_created(lead, actor=actor)
        record_event(CREATED, opt_in, actor=actor)
        return Submission(opt_in.pk, lead.pk, is_new)

    return atomic_with_retry(attempt)


def resolve_lead(
    organization: Organization, email: str, source_name: str, facts: dict[str, Any], there: SubmissionContext
) -> tuple[Lead, bool]:
    """The submission's lead, locked, with its newest source and what the submission says."""
    source = there.lead_source or get_or_create_source(organization=organization, name=source_name)
    fresh = build_lead(organization=organization, email=email, status=there.status, source=source)
    merge_submission(fresh, source=source, **facts)
    lead, is_new = get_or_create_lead(fresh, probably_exists=there.lead_id is not None)
    if not is_new:
        merge_submission(lead, source=source, **facts)
        save_lead(lead)
    return lead, is_new


def find_setter(organization: Organization, utm_content: str) -> Membership | None:
    """The active member whose user id the campaign carries; anything else is no reason to refuse (interface 4.5, rule 4)."""
    if not utm_content.startswith("user_"):
        return None
    members = Membership.objects.of(organization).filter(user_id=utm_content, is_active=True, user__is_active=True)
    member: Membership | None = members.first()
    return member
