from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.canceled_response_status import (
    CanceledResponseStatus,
    check_canceled_response_status,
)
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.appointment_detail import AppointmentDetail
    from ..models.canceled import Canceled


T = TypeVar("T", bound="CanceledResponse")


@_attrs_define
class CanceledResponse:
    """Appointment canceled.

    Attributes:
        status (CanceledResponseStatus): Always success.
        message (str): A sentence for people, whose words may change.
        data (Canceled): The result of a cancellation.
        appointment (AppointmentDetail | Unset): An appointment with its sources and opt-ins, without notes and UTM
            fields.
    """

    status: CanceledResponseStatus
    message: str
    data: Canceled
    appointment: AppointmentDetail | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        status: str = self.status

        message = self.message

        data = self.data.to_dict()

        appointment: dict[str, Any] | Unset = UNSET
        if not isinstance(self.appointment, Unset):
            appointment = self.appointment.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "status": status,
                "message": message,
                "data": data,
            }
        )
        if appointment is not UNSET:
            field_dict["appointment"] = appointment

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.appointment_detail import AppointmentDetail  # noqa: PLC0415
        from ..models.canceled import Canceled  # noqa: PLC0415

        d = dict(src_dict)
        status = check_canceled_response_status(d.pop("status"))

        message = d.pop("message")

        data = Canceled.from_dict(d.pop("data"))

        _appointment = d.pop("appointment", UNSET)
        appointment: AppointmentDetail | Unset
        if isinstance(_appointment, Unset):
            appointment = UNSET
        else:
            appointment = AppointmentDetail.from_dict(_appointment)

        canceled_response = cls(
            status=status,
            message=message,
            data=data,
            appointment=appointment,
        )

        canceled_response.additional_properties = d
        return canceled_response

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
