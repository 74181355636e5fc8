"""The present and former names and addresses of a lead, for comparing stored texts."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models.fields.json import KT

from leads.models import Lead, LeadMerge

FIELDS = ("email", "first_name", "last_name", "phone_e164")
# A client can change a lead as often as it likes, so older values than these are not compared.
MAX_CHANGES = 500


@dataclass(frozen=True)
class Identity:
    emails: list[str]
    phones: list[str]
    names: list[tuple[str, str]]


def identity_of(lead: Lead) -> Identity:
    """Return all present and former values, sorted. Reads the changes of the lead and its merges."""
    values = list(states_of(lead))
    return Identity(
        sorted({text for state in values if (text := state.get("email"))}),
        sorted({text for state in values if (text := state.get("phone_e164"))}),
        sorted({(state.get("first_name") or "", state.get("last_name") or "") for state in values} - {("", "")}),
    )


def states_of(lead: Lead) -> Iterator[Mapping[str, Any]]:
    """Yield the values of `FIELDS` at each time, from now backwards: of the lead, and of each lead merged into it."""
    # The changes of all of them belong to the lead now; each is one of the person whose values it has led to.
    merges = LeadMerge.objects.of(lead.organization).filter(lead=lead).values_list("email", "snapshot__merged")
    people: list[dict[str, Any]] = [{name: getattr(lead, name) for name in FIELDS}]
    people += [dict(merged) if merged else {"email": email} for email, merged in merges]
    yield from map(dict, people)  # they go back in time below
    yield from ({"email": email} for email, _ in merges)
    # Without custom values, which can be long.
    changes = lead.changes.filter(fields__has_any_keys=FIELDS).values_list(*(KT(f"fields__{name}") for name in FIELDS))
    for change in changes[:MAX_CHANGES]:
        values = {name: json.loads(pair) for name, pair in zip(FIELDS, change, strict=True) if pair}
        old = {name: pair[0] for name, pair in values.items()}
        new = {name: pair[1] for name, pair in values.items()}
        person = next((values for values in people if all(values.get(name) == new[name] for name in new)), None)
        if person is None:
            person = {}
            people.append(person)
        person.update(old)
        yield dict(person)
