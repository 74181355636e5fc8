from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.custom_field_value import CustomFieldValue
    from ..models.source import Source
    from ..models.status import Status
    from ..models.user import User


T = TypeVar("T", bound="LeadMergedPrevious")


@_attrs_define
class LeadMergedPrevious:
    """The fields that changed, with their old values.

    Attributes:
        first_name (str | Unset): First name.
        last_name (str | Unset): Last name; empty if it isn't known.
        email (str | Unset): E-mail address.
        phone_e164 (None | str | Unset): E.164.
        phone_country (None | str | Unset): ISO 3166-1 alpha-2.
        next_touch_point_at (datetime.datetime | None | Unset): The next contact with the lead.
        next_touch_point_type (None | str | Unset): Its kind. One of APPOINTMENT, CALL, EMAIL, SMS, FOLLOW_UP, OTHER;
            more may be added.
        status (Status | Unset): A sales status.
        setter (None | Unset | User): The member who works with the lead.
        first_source (Source | Unset): Where a lead came from.
        last_source (Source | Unset): Where a lead came from.
        next_step_at (datetime.datetime | None | Unset): What staff have to do next. It stays until it is done.
        next_step_type (None | str | Unset): The kind of the next step. One of APPOINTMENT, CALL, EMAIL, SMS, FOLLOW_UP,
            OTHER; more may be added.
        next_step_note (None | str | Unset): The note of the next step.
        custom_fields (list[CustomFieldValue] | Unset): Every custom field that the organization has defined, in its
            display order.
        previous_ids (list[UUID] | Unset): The leads that were merged into this one. Their ids lead to it.
    """

    first_name: str | Unset = UNSET
    last_name: str | Unset = UNSET
    email: str | Unset = UNSET
    phone_e164: None | str | Unset = UNSET
    phone_country: None | str | Unset = UNSET
    next_touch_point_at: datetime.datetime | None | Unset = UNSET
    next_touch_point_type: None | str | Unset = UNSET
    status: Status | Unset = UNSET
    setter: None | Unset | User = UNSET
    first_source: Source | Unset = UNSET
    last_source: Source | Unset = UNSET
    next_step_at: datetime.datetime | None | Unset = UNSET
    next_step_type: None | str | Unset = UNSET
    next_step_note: None | str | Unset = UNSET
    custom_fields: list[CustomFieldValue] | Unset = UNSET
    previous_ids: list[UUID] | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.user import User  # noqa: PLC0415

        first_name = self.first_name

        last_name = self.last_name

        email = self.email

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

        next_touch_point_at: None | str | Unset
        if isinstance(self.next_touch_point_at, Unset):
            next_touch_point_at = UNSET
        elif isinstance(self.next_touch_point_at, datetime.datetime):
            next_touch_point_at = self.next_touch_point_at.isoformat()
        else:
            next_touch_point_at = self.next_touch_point_at

        next_touch_point_type: None | str | Unset
        if isinstance(self.next_touch_point_type, Unset):
            next_touch_point_type = UNSET
        else:
            next_touch_point_type = self.next_touch_point_type

        status: dict[str, Any] | Unset = UNSET
        if not isinstance(self.status, Unset):
            status = self.status.to_dict()

        setter: dict[str, Any] | None | Unset
        if isinstance(self.setter, Unset):
            setter = UNSET
        elif isinstance(self.setter, User):
            setter = self.setter.to_dict()
        else:
            setter = self.setter

        first_source: dict[str, Any] | Unset = UNSET
        if not isinstance(self.first_source, Unset):
            first_source = self.first_source.to_dict()

        last_source: dict[str, Any] | Unset = UNSET
        if not isinstance(self.last_source, Unset):
            last_source = self.last_source.to_dict()

        next_step_at: None | str | Unset
        if isinstance(self.next_step_at, Unset):
            next_step_at = UNSET
        elif isinstance(self.next_step_at, datetime.datetime):
            next_step_at = self.next_step_at.isoformat()
        else:
            next_step_at = self.next_step_at

        next_step_type: None | str | Unset
        if isinstance(self.next_step_type, Unset):
            next_step_type = UNSET
        else:
            next_step_type = self.next_step_type

        next_step_note: None | str | Unset
        if isinstance(self.next_step_note, Unset):
            next_step_note = UNSET
        else:
            next_step_note = self.next_step_note

        custom_fields: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.custom_fields, Unset):
            custom_fields = []
            for custom_fields_item_data in self.custom_fields:
                custom_fields_item = custom_fields_item_data.to_dict()
                custom_fields.append(custom_fields_item)

        previous_ids: list[str] | Unset = UNSET
        if not isinstance(self.previous_ids, Unset):
            previous_ids = []
            for previous_ids_item_data in self.previous_ids:
                previous_ids_item = str(previous_ids_item_data)
                previous_ids.append(previous_ids_item)

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if first_name is not UNSET:
            field_dict["first_name"] = first_name
        if last_name is not UNSET:
            field_dict["last_name"] = last_name
        if email is not UNSET:
            field_dict["email"] = email
        if phone_e164 is not UNSET:
            field_dict["phone_e164"] = phone_e164
        if phone_country is not UNSET:
            field_dict["phone_country"] = phone_country
        if next_touch_point_at is not UNSET:
            field_dict["next_touch_point_at"] = next_touch_point_at
        if next_touch_point_type is not UNSET:
            field_dict["next_touch_point_type"] = next_touch_point_type
        if status is not UNSET:
            field_dict["status"] = status
        if setter is not UNSET:
            field_dict["setter"] = setter
        if first_source is not UNSET:
            field_dict["first_source"] = first_source
        if last_source is not UNSET:
            field_dict["last_source"] = last_source
        if next_step_at is not UNSET:
            field_dict["next_step_at"] = next_step_at
        if next_step_type is not UNSET:
            field_dict["next_step_type"] = next_step_type
        if next_step_note is not UNSET:
            field_dict["next_step_note"] = next_step_note
        if custom_fields is not UNSET:
            field_dict["custom_fields"] = custom_fields
        if previous_ids is not UNSET:
            field_dict["previous_ids"] = previous_ids

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.custom_field_value import CustomFieldValue  # noqa: PLC0415
        from ..models.source import Source  # noqa: PLC0415
        from ..models.status import Status  # noqa: PLC0415
        from ..models.user import User  # noqa: PLC0415

        d = dict(src_dict)
        first_name = d.pop("first_name", UNSET)

        last_name = d.pop("last_name", UNSET)

        email = d.pop("email", UNSET)

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

        def _parse_next_touch_point_at(data: object) -> datetime.datetime | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                next_touch_point_at_type_0 = datetime.datetime.fromisoformat(data)

                return next_touch_point_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None | Unset, data)

        next_touch_point_at = _parse_next_touch_point_at(d.pop("next_touch_point_at", UNSET))

        def _parse_next_touch_point_type(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        next_touch_point_type = _parse_next_touch_point_type(d.pop("next_touch_point_type", UNSET))

        _status = d.pop("status", UNSET)
        status: Status | Unset
        if isinstance(_status, Unset):
            status = UNSET
        else:
            status = Status.from_dict(_status)

        def _parse_setter(data: object) -> None | Unset | User:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                setter_type_0 = User.from_dict(data)

                return setter_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Unset | User, data)

        setter = _parse_setter(d.pop("setter", UNSET))

        _first_source = d.pop("first_source", UNSET)
        first_source: Source | Unset
        if isinstance(_first_source, Unset):
            first_source = UNSET
        else:
            first_source = Source.from_dict(_first_source)

        _last_source = d.pop("last_source", UNSET)
        last_source: Source | Unset
        if isinstance(_last_source, Unset):
            last_source = UNSET
        else:
            last_source = Source.from_dict(_last_source)

        def _parse_next_step_at(data: object) -> datetime.datetime | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                next_step_at_type_0 = datetime.datetime.fromisoformat(data)

                return next_step_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None | Unset, data)

        next_step_at = _parse_next_step_at(d.pop("next_step_at", UNSET))

        def _parse_next_step_type(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        next_step_type = _parse_next_step_type(d.pop("next_step_type", UNSET))

        def _parse_next_step_note(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        next_step_note = _parse_next_step_note(d.pop("next_step_note", UNSET))

        _custom_fields = d.pop("custom_fields", UNSET)
        custom_fields: list[CustomFieldValue] | Unset = UNSET
        if _custom_fields is not UNSET:
            custom_fields = []
            for custom_fields_item_data in _custom_fields:
                custom_fields_item = CustomFieldValue.from_dict(custom_fields_item_data)

                custom_fields.append(custom_fields_item)

        _previous_ids = d.pop("previous_ids", UNSET)
        previous_ids: list[UUID] | Unset = UNSET
        if _previous_ids is not UNSET:
            previous_ids = []
            for previous_ids_item_data in _previous_ids:
                previous_ids_item = UUID(previous_ids_item_data)

                previous_ids.append(previous_ids_item)

        lead_merged_previous = cls(
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
            previous_ids=previous_ids,
        )

        return lead_merged_previous
