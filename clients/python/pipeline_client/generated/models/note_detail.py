from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.actor import Actor
    from ..models.appointment_detail import AppointmentDetail
    from ..models.user import User


T = TypeVar("T", bound="NoteDetail")


@_attrs_define
class NoteDetail:
    """A note with its author and its appointment, as events have it.

    Attributes:
        note (str): The note's text.
        mention_users (list[User]): The members that the note mentions.
        id (UUID): The note's id.
        external_reference (None | str): The source system's id of the note.
        author (Actor): Who made a change: a staff member, an API key or the system.
        created_at (datetime.datetime): When it was written.
        appointment (AppointmentDetail): An appointment with its sources and opt-ins, without notes and UTM fields.
    """

    note: str
    mention_users: list[User]
    id: UUID
    external_reference: None | str
    author: Actor
    created_at: datetime.datetime
    appointment: AppointmentDetail
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        note = self.note

        mention_users = []
        for mention_users_item_data in self.mention_users:
            mention_users_item = mention_users_item_data.to_dict()
            mention_users.append(mention_users_item)

        id = str(self.id)

        external_reference: None | str
        external_reference = self.external_reference

        author = self.author.to_dict()

        created_at = self.created_at.isoformat()

        appointment = self.appointment.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "note": note,
                "mention_users": mention_users,
                "id": id,
                "external_reference": external_reference,
                "author": author,
                "created_at": created_at,
                "appointment": appointment,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.actor import Actor  # noqa: PLC0415
        from ..models.appointment_detail import AppointmentDetail  # noqa: PLC0415
        from ..models.user import User  # noqa: PLC0415

        d = dict(src_dict)
        note = d.pop("note")

        mention_users = []
        _mention_users = d.pop("mention_users")
        for mention_users_item_data in _mention_users:
            mention_users_item = User.from_dict(mention_users_item_data)

            mention_users.append(mention_users_item)

        id = UUID(d.pop("id"))

        def _parse_external_reference(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        external_reference = _parse_external_reference(d.pop("external_reference"))

        author = Actor.from_dict(d.pop("author"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        appointment = AppointmentDetail.from_dict(d.pop("appointment"))

        note_detail = cls(
            note=note,
            mention_users=mention_users,
            id=id,
            external_reference=external_reference,
            author=author,
            created_at=created_at,
            appointment=appointment,
        )

        note_detail.additional_properties = d
        return note_detail

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
