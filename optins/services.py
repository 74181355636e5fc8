"""The service that records opt-ins."""

from dataclasses import dataclass
from typing import TypedDict, Unpack
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
from optins.serializers import QuestionAnswerData
from optins.topics import CREATED
from organizations.actors import Actor
from organizations.models import Membership, Organization
from pipeline_backend.db.compiled import CombinedQuery, CompiledQuery, Param
from pipeline_backend.db.retry import atomic_with_retry
from pipeline_backend.db.writes import insert_all
from statuses.models import Board, Status, StatusRole
from statuses.services import DEFAULT_STATUS_BY_ROLE
from webhooks.services import record_event

OPT_IN_BY_REFERENCE: CompiledQuery[tuple[UUID, UUID]] = CompiledQuery(
    lambda: (
        OptIn.objects.of(Param("organization"))
        .filter(source=Param("source"), external_reference=Param("reference"))
        .values_list("pk", "lead_id")
    )
)
# One round trip to the database instead of four. The columns are the fields of `SubmissionContext`.
CONTEXT_QUERY = CombinedQuery(
    OPT_IN_BY_REFERENCE,
    DEFAULT_STATUS_BY_ROLE[Board.LEAD],
    SOURCE_BY_NAME,
    LEAD_ID_BY_EMAIL,
)


class LeadData(TypedDict):
    """What a submission says about its lead, except the e-mail."""

    phone: Phone | None
    first_name: str
    last_name: str
    setter: Membership | None


@dataclass(frozen=True)
class SubmissionContext:
    """Existing rows that a submission refers to.

    They are read without locks, so a missing row can still appear; the functions that insert one handle that.
    """

    opt_in_and_lead_id: tuple[UUID, UUID] | None
    lead_status: Status
    lead_source: Source | None
    lead_id: tuple[UUID] | None


@dataclass(frozen=True)
class Submission:
    """The result of `submit`."""

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
    questions_answers: list[QuestionAnswerData] | None = None,
    **form_fields: str,
) -> Submission:
    """Record a form submission for the lead with this e-mail, which is created if there is none.

    Safe to repeat with an `external_reference`: if an opt-in with this reference and source exists, it is returned and
    nothing is recorded (docs/interface.md, O7 to O11). Locks the lead.
    """
    traffic_fields = traffic or {}
    source_name = traffic_fields.get("utm_source") or source

    def attempt() -> Submission:
        context = load_context(organization, source, external_reference, source_name, email)
        if context.opt_in_and_lead_id:
            return Submission(*context.opt_in_and_lead_id, is_new_lead=False)

        setter = find_setter(organization, traffic_fields.get("utm_content", ""))
        lead_data = LeadData(phone=phone, first_name=first_name, last_name=last_name, setter=setter)
        lead, is_new = resolve_lead(organization, email, source_name, context, **lead_data)

        opt_in = OptIn(
            organization=organization,
            lead=lead,
            source=source,
            external_reference=external_reference,
            **form_fields,
            **traffic_fields,
        )
        answers = [QuestionAnswer(organization=organization, opt_in=opt_in, **row) for row in questions_answers or []]
        status_changes = [initial_status_change(lead, actor=actor)] if is_new else []
        # All rows in one statement: each further one would cost a round trip.
        insert_all(opt_in, *answers, *status_changes)
        if is_new:
            record_lead_created(lead, actor=actor)
        record_event(CREATED, opt_in, actor=actor)
        return Submission(opt_in.pk, lead.pk, is_new)

    return atomic_with_retry(attempt)


def load_context(
    organization: Organization, source: str, reference: str | None, source_name: str, email: str
) -> SubmissionContext:
    """Return the rows that the submission refers to, read in one query."""
    return SubmissionContext(
        *CONTEXT_QUERY.first(
            organization=organization.pk,
            source=source,
            reference=reference,
            role=StatusRole.NEW_LEAD.value,
            name=source_name,
            email=email,
        )
    )


def resolve_lead(
    organization: Organization,
    email: str,
    source_name: str,
    context: SubmissionContext,
    **data: Unpack[LeadData],
) -> tuple[Lead, bool]:
    """Return the lead with the submitted values merged in and stored, and whether it is new. Locks the lead."""
    source = context.lead_source or get_or_create_source(organization=organization, name=source_name)
    new_lead = build_lead(organization=organization, email=email, status=context.lead_status, source=source)
    merge_submission(new_lead, source=source, **data)
    lead, is_new = get_or_create_lead(new_lead, probably_exists=context.lead_id is not None)
    if not is_new:
        merge_submission(lead, source=source, **data)
        save_lead(lead)
    return lead, is_new


def find_setter(organization: Organization, utm_content: str) -> Membership | None:
    """Return the active member whose user id is the submission's `utm_content`, or None.

    Setters share links that carry their user id. Any other text is an ordinary UTM value, so it is not an error.
    """
    if not utm_content.startswith("user_"):
        return None
    members = Membership.objects.of(organization).filter(user_id=utm_content, is_active=True, user__is_active=True)
    member: Membership | None = members.first()
    return member
