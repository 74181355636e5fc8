from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.booked import Booked
    from ..models.imported_appointment_errors import ImportedAppointmentErrors


T = TypeVar("T", bound="ImportedAppointment")


@_attrs_define
class ImportedAppointment:
    """The result of a row of an import of appointments.

    Attributes:
        index (int): The row's place in the request, from 0.
        status (int): The status code that a request with this row alone would have.
        message (str | Unset): Why the row was not done; absent if it was.
        errors (ImportedAppointmentErrors | Unset): As in a 400 of a single request; absent otherwise.
        data (Booked | Unset): The result of a booking.
    """

    index: int
    status: int
    message: str | Unset = UNSET
    errors: ImportedAppointmentErrors | Unset = UNSET
    data: Booked | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        index = self.index

        status = self.status

        message = self.message

        errors: dict[str, Any] | Unset = UNSET
        if not isinstance(self.errors, Unset):
            errors = self.errors.to_dict()

        data: dict[str, Any] | Unset = UNSET
        if not isinstance(self.data, Unset):
            data = self.data.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "index": index,
                "status": status,
            }
        )
        if message is not UNSET:
            field_dict["message"] = message
        if errors is not UNSET:
            field_dict["errors"] = errors
        if data is not UNSET:
            field_dict["data"] = data

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.booked import Booked  # noqa: PLC0415
        from ..models.imported_appointment_errors import ImportedAppointmentErrors  # noqa: PLC0415

        d = dict(src_dict)
        index = d.pop("index")

        status = d.pop("status")

        message = d.pop("message", UNSET)

        _errors = d.pop("errors", UNSET)
        errors: ImportedAppointmentErrors | Unset
        if isinstance(_errors, Unset):
            errors = UNSET
        else:
            errors = ImportedAppointmentErrors.from_dict(_errors)

        _data = d.pop("data", UNSET)
        data: Booked | Unset
        if isinstance(_data, Unset):
            data = UNSET
        else:
            data = Booked.from_dict(_data)

        imported_appointment = cls(
            index=index,
            status=status,
            message=message,
            errors=errors,
            data=data,
        )

        imported_appointment.additional_properties = d
        return imported_appointment

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
