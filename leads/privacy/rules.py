"""The rows that belong to a lead by foreign keys, and the rule for erasing each table."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias, TypeVar
from uuid import UUID

from django.db.models import CharField, ForeignObjectRel, Q, Value
from django.db.models.functions import Cast, Concat
from django.utils.module_loading import autodiscover_modules

from foundation.db.expressions import is_any_of
from leads.models import (
    ERASED_EMAIL,
    DeletedLeadNote,
    Lead,
    LeadChange,
    LeadMerge,
    LeadNote,
    LeadStatusChange,
    NextStep,
    PossibleDuplicate,
)

AnyModel: TypeAlias = type[Any]
Rows: TypeAlias = dict[AnyModel, list[UUID]]
T = TypeVar("T")


@dataclass(frozen=True)
class Rule:
    is_deleted: bool = False
    values: dict[str, Any] = field(default_factory=dict)  # otherwise set in the rows
    harmless: frozenset[str] = frozenset()  # other columns with values of their own: numbers, choices and the like


@dataclass(frozen=True)
class Synced:
    """Which rows of a model have a reference of a system that syncs them, and the row that it stands for."""

    kind: AnyModel
    subject: str  # the column with the id of the row of this kind
    condition: Q


_rules: dict[AnyModel, Rule] = {}
_synced: dict[AnyModel, Synced] = {}
_activity: dict[AnyModel, tuple[str, ...]] = {}


def delete_rows(*models: AnyModel) -> None:
    _rules.update(dict.fromkeys(models, Rule(is_deleted=True)))


def empty_rows(model: AnyModel, values: dict[str, Any], harmless: Collection[str]) -> None:
    _rules[model] = Rule(values=values, harmless=frozenset(harmless))


def sync_by_reference(model: AnyModel, kind: AnyModel, subject: str, condition: Q) -> None:
    _synced[model] = Synced(kind, subject, condition)


def count_as_activity(model: AnyModel, *columns: str) -> None:
    """Let these times of the model's rows be activity of the lead that they refer to (`leads.privacy.retention`)."""
    _activity[model] = columns


@cache
def load_synced() -> dict[AnyModel, Synced]:
    autodiscover_modules("privacy")
    return _synced


@cache
def load_rules() -> dict[AnyModel, Rule]:
    autodiscover_modules("privacy")
    return _rules


def load_activity() -> dict[AnyModel, tuple[str, ...]]:
    load_rules()
    return _activity


def relations_to(model: AnyModel) -> list[ForeignObjectRel]:
    """Return the foreign keys to the model, without those of tables that only join two others and go with either."""
    relations = model._meta.get_fields(include_hidden=True)
    return [
        relation
        for relation in relations
        if isinstance(relation, ForeignObjectRel)
        and (relation.one_to_many or relation.one_to_one)
        and not relation.related_model._meta.auto_created
    ]


def batches(items: Sequence[T], size: int) -> Iterator[list[T]]:
    for start in range(0, len(items), size):
        yield list(items[start : start + size])


def find_rows(lead: Lead, *, lock: bool = False, limit: int | None = None) -> Rows:
    """Return the ids of all rows that belong to the lead, by model, the lead's first, with those of merged leads.

    With `limit`, stop once more than `limit` ids are found. With `lock`, lock the rows that stay before looking for
    what refers to them, so that none are added meanwhile. Raises KeyError for a table without a rule.
    """
    rules = load_rules()
    # Events and histories still name the leads that were merged into this one.
    found: Rows = {Lead: [lead.pk, *lead.merges.values_list("previous_id", flat=True)]}
    waiting: list[tuple[AnyModel, list[UUID]]] = list(found.items())
    while waiting:
        model, ids = waiting.pop(0)
        for relation in relations_to(model):
            child: AnyModel = relation.related_model
            known = set(found.get(child, []))
            rows = child._base_manager.filter(is_any_of(relation.field.attname, ids))
            rows = rows.order_by() if limit else rows.order_by("pk")
            if lock and not rules[child].is_deleted:
                rows = rows.select_for_update()
            pks = rows.values_list("pk", flat=True)[: limit + 1 if limit else None]
            new = [pk for pk in pks if pk not in known]
            if new:
                found[child] = [*found.get(child, []), *new]
                waiting.append((child, new))
            if limit and sum(map(len, found.values())) > limit:
                return found
    return found


# The lead's own tables.
empty_rows(
    Lead,
    {
        # One per lead, and one that can't be written to (RFC 2606).
        "email": Concat(Value("erased-"), Cast("pk", CharField()), Value(ERASED_EMAIL)),
        "first_name": "",
        "last_name": "",
        "is_first_name_from_email": None,
        "phone_e164": None,
        "phone_country": None,
        "next_touch_point_at": None,
        "next_touch_point_type": None,
        "next_step_at": None,
        "next_step_type": None,
        "next_step_note": None,
        "custom_values": {},
        "external_reference": None,
        "unsubscribed_at": None,
    },
    harmless={"status_since"},
)
# Statuses, and who set them: how long leads had a status is counted.
empty_rows(LeadStatusChange, {}, harmless={"actor_kind", "actor_id", "actor_name", "is_undone"})
delete_rows(DeletedLeadNote, LeadChange, LeadMerge, LeadNote, NextStep, PossibleDuplicate)
count_as_activity(LeadNote, "created_at", "edited_at")
count_as_activity(DeletedLeadNote, "created_at")
count_as_activity(NextStep, "created_at", "at", "done_at")
