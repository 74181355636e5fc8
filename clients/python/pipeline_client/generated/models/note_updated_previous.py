from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.user import User


T = TypeVar("T", bound="NoteUpdatedPrevious")


@_attrs_define
class NoteUpdatedPrevious:
    """The fields that changed, with their old values.

    Attributes:
        note (str | Unset): The note's text.
        mention_users (list[User] | Unset): The members that the note mentions.
    """

    note: str | Unset = UNSET
    mention_users: list[User] | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        note = self.note

        mention_users: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.mention_users, Unset):
            mention_users = []
            for mention_users_item_data in self.mention_users:
                mention_users_item = mention_users_item_data.to_dict()
                mention_users.append(mention_users_item)

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if note is not UNSET:
            field_dict["note"] = note
        if mention_users is not UNSET:
            field_dict["mention_users"] = mention_users

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.user import User  # noqa: PLC0415

        d = dict(src_dict)
        note = d.pop("note", UNSET)

        _mention_users = d.pop("mention_users", UNSET)
        mention_users: list[User] | Unset = UNSET
        if _mention_users is not UNSET:
            mention_users = []
            for mention_users_item_data in _mention_users:
                mention_users_item = User.from_dict(mention_users_item_data)

                mention_users.append(mention_users_item)

        note_updated_previous = cls(
            note=note,
            mention_users=mention_users,
        )

        return note_updated_previous
