from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="NoteInputRequest")


@_attrs_define
class NoteInputRequest:
    """A note about an appointment.

    Attributes:
        note (str): The note's text.
        external_reference (None | str | Unset): The source system's id of the note. A request that repeats it adds
            nothing.
        mention_emails (list[str] | Unset): The active members whom the note mentions; they are notified.
    """

    note: str
    external_reference: None | str | Unset = UNSET
    mention_emails: list[str] | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        note = self.note

        external_reference: None | str | Unset
        if isinstance(self.external_reference, Unset):
            external_reference = UNSET
        else:
            external_reference = self.external_reference

        mention_emails: list[str] | Unset = UNSET
        if not isinstance(self.mention_emails, Unset):
            mention_emails = self.mention_emails

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "note": note,
            }
        )
        if external_reference is not UNSET:
            field_dict["external_reference"] = external_reference
        if mention_emails is not UNSET:
            field_dict["mention_emails"] = mention_emails

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        note = d.pop("note")

        def _parse_external_reference(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        external_reference = _parse_external_reference(d.pop("external_reference", UNSET))

        mention_emails = cast(list[str], d.pop("mention_emails", UNSET))

        note_input_request = cls(
            note=note,
            external_reference=external_reference,
            mention_emails=mention_emails,
        )

        note_input_request.additional_properties = d
        return note_input_request

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
