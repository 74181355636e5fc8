from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.user import User


T = TypeVar("T", bound="Note")


@_attrs_define
class Note:
    """A note about an appointment.

    Attributes:
        note (str): The note's text.
        mention_users (list[User]): The members that the note mentions.
    """

    note: str
    mention_users: list[User]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        note = self.note

        mention_users = []
        for mention_users_item_data in self.mention_users:
            mention_users_item = mention_users_item_data.to_dict()
            mention_users.append(mention_users_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "note": note,
                "mention_users": mention_users,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.user import User  # noqa: PLC0415

        d = dict(src_dict)
        note = d.pop("note")

        mention_users = []
        _mention_users = d.pop("mention_users")
        for mention_users_item_data in _mention_users:
            mention_users_item = User.from_dict(mention_users_item_data)

            mention_users.append(mention_users_item)

        note = cls(
            note=note,
            mention_users=mention_users,
        )

        note.additional_properties = d
        return note

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
