from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.lead_update_input_request_custom_fields import (
        LeadUpdateInputRequestCustomFields,
    )


T = TypeVar("T", bound="LeadUpdateInputRequest")


@_attrs_define
class LeadUpdateInputRequest:
    """Changes of a lead. An absent field keeps its value; null clears one that may be null.

    Attributes:
        first_name (str | Unset): First name.
        last_name (None | str | Unset): Last name.
        phone_e164 (None | str | Unset): E.164. null removes the number.
        phone_country (None | str | Unset): ISO 3166-1 alpha-2, in either letter case; required with phone_e164, and
            sent only with it.
        setter_email (None | str | Unset): An active member of the organization who is not a viewer.
        external_reference (None | str | Unset): Your own id of the lead, unique in the organization and compared
            exactly. Not shown in responses.
        custom_fields (LeadUpdateInputRequestCustomFields | Unset): New values by the custom fields' keys. null removes
            one; others stay.
    """

    first_name: str | Unset = UNSET
    last_name: None | str | Unset = UNSET
    phone_e164: None | str | Unset = UNSET
    phone_country: None | str | Unset = UNSET
    setter_email: None | str | Unset = UNSET
    external_reference: None | str | Unset = UNSET
    custom_fields: LeadUpdateInputRequestCustomFields | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        first_name = self.first_name

        last_name: None | str | Unset
        if isinstance(self.last_name, Unset):
            last_name = UNSET
        else:
            last_name = self.last_name

        phone_e164: None | str | Unset
        if isinstance(self.phone_e164, Unset):
            phone_e164 = UNSET
        else:
            phone_e164 = self.phone_e164

        phone_country: None | str | Unset
        if isinstance(self.phone_country, Unset):
            phone_country = UNSET
        else:
            phone_country = self.phone_country

        setter_email: None | str | Unset
        if isinstance(self.setter_email, Unset):
            setter_email = UNSET
        else:
            setter_email = self.setter_email

        external_reference: None | str | Unset
        if isinstance(self.external_reference, Unset):
            external_reference = UNSET
        else:
            external_reference = self.external_reference

        custom_fields: dict[str, Any] | Unset = UNSET
        if not isinstance(self.custom_fields, Unset):
            custom_fields = self.custom_fields.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if first_name is not UNSET:
            field_dict["first_name"] = first_name
        if last_name is not UNSET:
            field_dict["last_name"] = last_name
        if phone_e164 is not UNSET:
            field_dict["phone_e164"] = phone_e164
        if phone_country is not UNSET:
            field_dict["phone_country"] = phone_country
        if setter_email is not UNSET:
            field_dict["setter_email"] = setter_email
        if external_reference is not UNSET:
            field_dict["external_reference"] = external_reference
        if custom_fields is not UNSET:
            field_dict["custom_fields"] = custom_fields

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.lead_update_input_request_custom_fields import (
            LeadUpdateInputRequestCustomFields,  # noqa: PLC0415
        )

        d = dict(src_dict)
        first_name = d.pop("first_name", UNSET)

        def _parse_last_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        last_name = _parse_last_name(d.pop("last_name", UNSET))

        def _parse_phone_e164(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        phone_e164 = _parse_phone_e164(d.pop("phone_e164", UNSET))

        def _parse_phone_country(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        phone_country = _parse_phone_country(d.pop("phone_country", UNSET))

        def _parse_setter_email(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        setter_email = _parse_setter_email(d.pop("setter_email", UNSET))

        def _parse_external_reference(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        external_reference = _parse_external_reference(d.pop("external_reference", UNSET))

        _custom_fields = d.pop("custom_fields", UNSET)
        custom_fields: LeadUpdateInputRequestCustomFields | Unset
        if isinstance(_custom_fields, Unset):
            custom_fields = UNSET
        else:
            custom_fields = LeadUpdateInputRequestCustomFields.from_dict(_custom_fields)

        lead_update_input_request = cls(
            first_name=first_name,
            last_name=last_name,
            phone_e164=phone_e164,
            phone_country=phone_country,
            setter_email=setter_email,
            external_reference=external_reference,
            custom_fields=custom_fields,
        )

        lead_update_input_request.additional_properties = d
        return lead_update_input_request

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
