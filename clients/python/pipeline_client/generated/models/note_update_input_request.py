from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="NoteUpdateInputRequest")


@_attrs_define
class NoteUpdateInputRequest:
    """Changes of a note about an appointment.

    Attributes:
        note (str | Unset): The note's text.
        mention_emails (list[str] | None | Unset): The active members whom the note mentions from now on; those who are
            new are notified.
    """

    note: str | Unset = UNSET
    mention_emails: list[str] | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        note = self.note

        mention_emails: list[str] | None | Unset
        if isinstance(self.mention_emails, Unset):
            mention_emails = UNSET
        elif isinstance(self.mention_emails, list):
            mention_emails = self.mention_emails

        else:
            mention_emails = self.mention_emails

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if note is not UNSET:
            field_dict["note"] = note
        if mention_emails is not UNSET:
            field_dict["mention_emails"] = mention_emails

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        note = d.pop("note", UNSET)

        def _parse_mention_emails(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                mention_emails_type_0 = cast(list[str], data)

                return mention_emails_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        mention_emails = _parse_mention_emails(d.pop("mention_emails", UNSET))

        note_update_input_request = cls(
            note=note,
            mention_emails=mention_emails,
        )

        note_update_input_request.additional_properties = d
        return note_update_input_request

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
