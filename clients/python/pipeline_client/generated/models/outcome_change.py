from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.actor import Actor
    from ..models.outcome import Outcome


T = TypeVar("T", bound="OutcomeChange")


@_attrs_define
class OutcomeChange:
    """A change of an appointment's outcome.

    Attributes:
        id (UUID): The change's id.
        from_ (None | Outcome): The outcome before; null at the booking.
        to (Outcome): The outcome of an appointment: a status without its type.
        actor (Actor): Who made a change: a staff member, an API key or the system.
        created_at (datetime.datetime): When it was made.
    """

    id: UUID
    from_: None | Outcome
    to: Outcome
    actor: Actor
    created_at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.outcome import Outcome  # noqa: PLC0415

        id = str(self.id)

        from_: dict[str, Any] | None
        if isinstance(self.from_, Outcome):
            from_ = self.from_.to_dict()
        else:
            from_ = self.from_

        to = self.to.to_dict()

        actor = self.actor.to_dict()

        created_at = self.created_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "from": from_,
                "to": to,
                "actor": actor,
                "created_at": created_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.actor import Actor  # noqa: PLC0415
        from ..models.outcome import Outcome  # noqa: PLC0415

        d = dict(src_dict)
        id = UUID(d.pop("id"))

        def _parse_from_(data: object) -> None | Outcome:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                from_type_0 = Outcome.from_dict(data)

                return from_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Outcome, data)

        from_ = _parse_from_(d.pop("from"))

        to = Outcome.from_dict(d.pop("to"))

        actor = Actor.from_dict(d.pop("actor"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        outcome_change = cls(
            id=id,
            from_=from_,
            to=to,
            actor=actor,
            created_at=created_at,
        )

        outcome_change.additional_properties = d
        return outcome_change

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
