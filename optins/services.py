"""The service that records opt-ins."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError
from uuid_utils.compat import uuid7

from foundation.api.exceptions import ValidationFailed
from foundation.db.compiled import CombinedQuery, CompiledQuery, Param
from foundation.db.names import fold_name
from foundation.db.retry import atomic_with_retry
from foundation.db.writes import insert_all
from leads.phones import Phone
from leads.privacy.references import find_erased
from leads.services import (
    SOURCE_BY_NAME,
    check_not_being_erased,
    get_or_create_source,
    normalized_source_name,
    save_lead,
    upsert_lead,
)
from optins.models import TRAFFIC_FIELDS, OptIn, QuestionAnswer
from optins.serializers import OptInDetailSerializer, QuestionAnswerData
from optins.topics import CREATED, UPDATED
from organizations.actors import Actor
from organizations.models import CAN_BE_ASSIGNED, Membership, Organization
from statuses.models import Board, StatusRole
from statuses.services import DEFAULT_STATUS_BY_ROLE
from webhooks.events import one_statement, record_event

OPT_IN_BY_REFERENCE: CompiledQuery[tuple[UUID, UUID]] = CompiledQuery(
    lambda: (
        OptIn.objects.of(Param("organization"))
        .filter(source=Param("source"), external_reference=Param("reference"))
        .values_list("pk", "lead_id")
    )
)
# One round trip to the database instead of three (benchmark row "submit an opt-in").
CONTEXT_QUERY = CombinedQuery(OPT_IN_BY_REFERENCE, DEFAULT_STATUS_BY_ROLE[Board.LEAD], SOURCE_BY_NAME)


@atomic_with_retry
@one_statement()  # benchmark row "submit an opt-in"
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
    traffic: Mapping[str, str | None] | None = None,
    questions_answers: Sequence[QuestionAnswerData] = (),
    is_of_booking: bool = False,
    **form: Any,
) -> tuple[UUID, UUID, bool]:
    """Record a form submission for the lead with this e-mail, created if there is none. Locks the lead.

    Returns the ids of opt-in and lead, and whether the lead is new. Raises ValidationFailed for the e-mail of an erased
    lead. `form` can have `provider_form_id` and `provider_form_name`; a sync adds `id` and `synced_at`, and that of a
    booking `created_at`. The answers of a booking change neither source nor setter of a known lead (A57). Repeating an
    `external_reference` of the same source returns its opt-in and changes nothing (docs/interface.md, O7 to O11).
    """
    traffic = traffic or {}
    source_name = normalized_source_name(traffic.get("utm_source") or source)
    known, new_lead_status, lead_source = CONTEXT_QUERY.first(
        organization=organization.pk,
        source=source,
        reference=external_reference,
        role=StatusRole.NEW_LEAD.value,
        source_key=fold_name(source_name),
    )
    if known:
        return (*known, False)

    lead_source = lead_source or get_or_create_source(organization=organization, name=source_name)
    lead, is_new_lead = upsert_lead(
        organization=organization,
        actor=actor,
        email=email,
        create_defaults={"status": new_lead_status, "first_source": lead_source, "last_source": lead_source},
        first_name=first_name,
        last_name=last_name,
        phone=phone,
        setter=None if is_of_booking else find_setter(organization, traffic.get("utm_content") or ""),
        last_source=None if is_of_booking else lead_source,
    )
    if lead.is_erased:
        raise ValidationFailed({"email": ["is that of an erased lead"]})
    columns = {"source": source, "external_reference": external_reference, **form, **traffic}
    opt_in = OptIn(organization=organization, lead=lead, **columns)
    answers = [QuestionAnswer(organization=organization, opt_in=opt_in, **answer) for answer in questions_answers]
    insert_all(opt_in, *answers)
    if not is_new_lead:
        save_lead(lead, actor=actor)
    record_event(CREATED, opt_in, actor=actor)
    return opt_in.pk, lead.pk, is_new_lead


@atomic_with_retry
def sync_opt_in(
    *, organization: Organization, actor: Actor, source: str, reference: str, changed_at: datetime, **data: Any
) -> tuple[UUID, UUID, bool, bool]:
    """Record a form submission, or replace traffic and answers of the one with the reference. Locks it, or the lead.

    Returns the ids of opt-in and lead, whether the opt-in is new, and whether the state was applied: an older one than
    the stored one changes nothing (docs/interface.md, O14 to O16). `data` is that of `submit`.
    """
    if erased := find_erased(organization, OptIn, source, reference):
        opt_in = OptIn.objects.of(organization).get(pk=erased.subject_id)
        return opt_in.pk, opt_in.lead_id, False, False
    new_id = uuid7()
    columns: dict[str, Any] = {"source": source, "external_reference": reference, "id": new_id, "synced_at": changed_at}
    opt_in_id, lead_id, _ = submit(organization=organization, actor=actor, **columns, **data)
    if opt_in_id == new_id:
        return opt_in_id, lead_id, True, True
    opt_in = OptIn.objects.of(organization).select_for_update(no_key=True).get(pk=opt_in_id)
    if opt_in.external_reference is None:
        raise IntegrityError("the lead was erased meanwhile")  # the retry finds its hash
    check_not_being_erased(opt_in.lead)
    if opt_in.synced_at and changed_at < opt_in.synced_at:
        return opt_in_id, lead_id, False, False
    opt_in.organization = organization
    traffic = None if data.get("is_of_booking") else data.get("traffic") or {}
    replace_details(opt_in, actor, traffic, data.get("questions_answers", ()))
    OptIn.objects.of(organization).filter(pk=opt_in_id).update(synced_at=changed_at)
    return opt_in_id, lead_id, False, True


def replace_details(
    opt_in: OptIn, actor: Actor, traffic: Mapping[str, str | None] | None, answers: Sequence[QuestionAnswerData]
) -> None:
    """Store traffic, unless it is None, and answers of a locked opt-in, with an event if something has changed."""
    before = OptInDetailSerializer.get_text(opt_in.organization, opt_in.pk)
    values = {} if traffic is None else {name: traffic.get(name) for name in TRAFFIC_FIELDS}
    stored = QuestionAnswer.objects.of(opt_in.organization).filter(opt_in=opt_in).order_by("position")
    texts = [(answer["question"], answer.get("answer"), answer["position"]) for answer in answers]
    if sorted(texts, key=lambda text: text[2]) != list(stored.values_list("question", "answer", "position")):
        stored.delete()
        rows = [QuestionAnswer(organization=opt_in.organization, opt_in=opt_in, **answer) for answer in answers]
        QuestionAnswer.objects.of(opt_in.organization).bulk_create(rows)
    if values:
        OptIn.objects.of(opt_in.organization).filter(pk=opt_in.pk).update(**values)
    record_event(UPDATED, opt_in, actor=actor, before=before)


def is_submitted(organization: Organization, source: object, reference: object) -> bool:
    """Return whether a submission with this source and reference, which are any JSON values, would be a repeat."""
    if not (isinstance(source, str) and isinstance(reference, str)):
        return False
    return OptIn.objects.of(organization).filter(source=source, external_reference=reference).exists()


def find_setter(organization: Organization, utm_content: str) -> Membership | None:
    """Return the setter whose link, which carries the user id, was used; None for an ordinary UTM value."""
    members = Membership.objects.of(organization).filter(CAN_BE_ASSIGNED, user_id=utm_content)
    return members.first() if utm_content.startswith("user_") else None
