from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.actor import Actor
    from ..models.lead_detail import LeadDetail


T = TypeVar("T", bound="LeadNoteDetail")


@_attrs_define
class LeadNoteDetail:
    """A note about a lead with its author and the lead, as events have it.

    Attributes:
        id (UUID): The note's id.
        note (str): The note's text.
        external_reference (None | str): The source system's id of the note.
        author (Actor): Who made a change: a staff member, an API key or the system.
        created_at (datetime.datetime): When it was written.
        lead (LeadDetail): A lead.
    """

    id: UUID
    note: str
    external_reference: None | str
    author: Actor
    created_at: datetime.datetime
    lead: LeadDetail
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        note = self.note

        external_reference: None | str
        external_reference = self.external_reference

        author = self.author.to_dict()

        created_at = self.created_at.isoformat()

        lead = self.lead.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "note": note,
                "external_reference": external_reference,
                "author": author,
                "created_at": created_at,
                "lead": lead,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.actor import Actor  # noqa: PLC0415
        from ..models.lead_detail import LeadDetail  # noqa: PLC0415

        d = dict(src_dict)
        id = UUID(d.pop("id"))

        note = d.pop("note")

        def _parse_external_reference(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        external_reference = _parse_external_reference(d.pop("external_reference"))

        author = Actor.from_dict(d.pop("author"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        lead = LeadDetail.from_dict(d.pop("lead"))

        lead_note_detail = cls(
            id=id,
            note=note,
            external_reference=external_reference,
            author=author,
            created_at=created_at,
            lead=lead,
        )

        lead_note_detail.additional_properties = d
        return lead_note_detail

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
