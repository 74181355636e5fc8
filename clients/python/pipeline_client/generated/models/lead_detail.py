from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.custom_field_value import CustomFieldValue
    from ..models.source import Source
    from ..models.status import Status
    from ..models.user import User


T = TypeVar("T", bound="LeadDetail")


@_attrs_define
class LeadDetail:
    """A lead.

    Attributes:
        id (UUID): The lead's id.
        first_name (str): First name.
        last_name (str): Last name; empty if it isn't known.
        email (str): E-mail address.
        phone_e164 (None | str): E.164.
        phone_country (None | str): ISO 3166-1 alpha-2.
        next_touch_point_at (datetime.datetime | None): The next contact with the lead.
        next_touch_point_type (None | str): Its kind. One of APPOINTMENT, CALL, EMAIL, SMS, FOLLOW_UP, OTHER; more may
            be added.
        status (Status): A sales status.
        setter (None | User): The member who works with the lead.
        first_source (Source): Where a lead came from.
        last_source (Source): Where a lead came from.
        next_step_at (datetime.datetime | None): What staff have to do next. It stays until it is done.
        next_step_type (None | str): The kind of the next step. One of APPOINTMENT, CALL, EMAIL, SMS, FOLLOW_UP, OTHER;
            more may be added.
        next_step_note (None | str): The note of the next step.
        custom_fields (list[CustomFieldValue]): Every custom field that the organization has defined, in its display
            order.
        created_at (datetime.datetime): When the lead was stored.
        updated_at (datetime.datetime): When a value of the lead last changed.
        previous_ids (list[UUID]): The leads that were merged into this one. Their ids lead to it.
    """

    id: UUID
    first_name: str
    last_name: str
    email: str
    phone_e164: None | str
    phone_country: None | str
    next_touch_point_at: datetime.datetime | None
    next_touch_point_type: None | str
    status: Status
    setter: None | User
    first_source: Source
    last_source: Source
    next_step_at: datetime.datetime | None
    next_step_type: None | str
    next_step_note: None | str
    custom_fields: list[CustomFieldValue]
    created_at: datetime.datetime
    updated_at: datetime.datetime
    previous_ids: list[UUID]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.user import User  # noqa: PLC0415

        id = str(self.id)

        first_name = self.first_name

        last_name = self.last_name

        email = self.email

        phone_e164: None | str
        phone_e164 = self.phone_e164

        phone_country: None | str
        phone_country = self.phone_country

        next_touch_point_at: None | str
        if isinstance(self.next_touch_point_at, datetime.datetime):
            next_touch_point_at = self.next_touch_point_at.isoformat()
        else:
            next_touch_point_at = self.next_touch_point_at

        next_touch_point_type: None | str
        next_touch_point_type = self.next_touch_point_type

        status = self.status.to_dict()

        setter: dict[str, Any] | None
        if isinstance(self.setter, User):
            setter = self.setter.to_dict()
        else:
            setter = self.setter

        first_source = self.first_source.to_dict()

        last_source = self.last_source.to_dict()

        next_step_at: None | str
        if isinstance(self.next_step_at, datetime.datetime):
            next_step_at = self.next_step_at.isoformat()
        else:
            next_step_at = self.next_step_at

        next_step_type: None | str
        next_step_type = self.next_step_type

        next_step_note: None | str
        next_step_note = self.next_step_note

        custom_fields = []
        for custom_fields_item_data in self.custom_fields:
            custom_fields_item = custom_fields_item_data.to_dict()
            custom_fields.append(custom_fields_item)

        created_at = self.created_at.isoformat()

        updated_at = self.updated_at.isoformat()

        previous_ids = []
        for previous_ids_item_data in self.previous_ids:
            previous_ids_item = str(previous_ids_item_data)
            previous_ids.append(previous_ids_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "first_name": first_name,
                "last_name": last_name,
                "email": email,
                "phone_e164": phone_e164,
                "phone_country": phone_country,
                "next_touch_point_at": next_touch_point_at,
                "next_touch_point_type": next_touch_point_type,
                "status": status,
                "setter": setter,
                "first_source": first_source,
                "last_source": last_source,
                "next_step_at": next_step_at,
                "next_step_type": next_step_type,
                "next_step_note": next_step_note,
                "custom_fields": custom_fields,
                "created_at": created_at,
                "updated_at": updated_at,
                "previous_ids": previous_ids,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.custom_field_value import CustomFieldValue  # noqa: PLC0415
        from ..models.source import Source  # noqa: PLC0415
        from ..models.status import Status  # noqa: PLC0415
        from ..models.user import User  # noqa: PLC0415

        d = dict(src_dict)
        id = UUID(d.pop("id"))

        first_name = d.pop("first_name")

        last_name = d.pop("last_name")

        email = d.pop("email")

        def _parse_phone_e164(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        phone_e164 = _parse_phone_e164(d.pop("phone_e164"))

        def _parse_phone_country(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        phone_country = _parse_phone_country(d.pop("phone_country"))

        def _parse_next_touch_point_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                next_touch_point_at_type_0 = datetime.datetime.fromisoformat(data)

                return next_touch_point_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        next_touch_point_at = _parse_next_touch_point_at(d.pop("next_touch_point_at"))

        def _parse_next_touch_point_type(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        next_touch_point_type = _parse_next_touch_point_type(d.pop("next_touch_point_type"))

        status = Status.from_dict(d.pop("status"))

        def _parse_setter(data: object) -> None | User:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                setter_type_0 = User.from_dict(data)

                return setter_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | User, data)

        setter = _parse_setter(d.pop("setter"))

        first_source = Source.from_dict(d.pop("first_source"))

        last_source = Source.from_dict(d.pop("last_source"))

        def _parse_next_step_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                next_step_at_type_0 = datetime.datetime.fromisoformat(data)

                return next_step_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        next_step_at = _parse_next_step_at(d.pop("next_step_at"))

        def _parse_next_step_type(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        next_step_type = _parse_next_step_type(d.pop("next_step_type"))

        def _parse_next_step_note(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        next_step_note = _parse_next_step_note(d.pop("next_step_note"))

        custom_fields = []
        _custom_fields = d.pop("custom_fields")
        for custom_fields_item_data in _custom_fields:
            custom_fields_item = CustomFieldValue.from_dict(custom_fields_item_data)

            custom_fields.append(custom_fields_item)

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        updated_at = datetime.datetime.fromisoformat(d.pop("updated_at"))

        previous_ids = []
        _previous_ids = d.pop("previous_ids")
        for previous_ids_item_data in _previous_ids:
            previous_ids_item = UUID(previous_ids_item_data)

            previous_ids.append(previous_ids_item)

        lead_detail = cls(
            id=id,
            first_name=first_name,
            last_name=last_name,
            email=email,
            phone_e164=phone_e164,
            phone_country=phone_country,
            next_touch_point_at=next_touch_point_at,
            next_touch_point_type=next_touch_point_type,
            status=status,
            setter=setter,
            first_source=first_source,
            last_source=last_source,
            next_step_at=next_step_at,
            next_step_type=next_step_type,
            next_step_note=next_step_note,
            custom_fields=custom_fields,
            created_at=created_at,
            updated_at=updated_at,
            previous_ids=previous_ids,
        )

        lead_detail.additional_properties = d
        return lead_detail

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
