from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.booking_input_request import BookingInputRequest


T = TypeVar("T", bound="AppointmentImportInputRequest")


@_attrs_define
class AppointmentImportInputRequest:
    """Appointments to book.

    Attributes:
        rows (list[BookingInputRequest]): 1 to 200 bookings, each as in the request for one, except that its notify is
            ignored. Ten count as one request.
        notify (bool | None | Unset): true: the bookings notify as single ones do. Events are recorded. Default: False.
    """

    rows: list[BookingInputRequest]
    notify: bool | None | Unset = False
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        rows = []
        for rows_item_data in self.rows:
            rows_item = rows_item_data.to_dict()
            rows.append(rows_item)

        notify: bool | None | Unset
        if isinstance(self.notify, Unset):
            notify = UNSET
        else:
            notify = self.notify

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "rows": rows,
            }
        )
        if notify is not UNSET:
            field_dict["notify"] = notify

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.booking_input_request import BookingInputRequest  # noqa: PLC0415

        d = dict(src_dict)
        rows = []
        _rows = d.pop("rows")
        for rows_item_data in _rows:
            rows_item = BookingInputRequest.from_dict(rows_item_data)

            rows.append(rows_item)

        def _parse_notify(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        notify = _parse_notify(d.pop("notify", UNSET))

        appointment_import_input_request = cls(
            rows=rows,
            notify=notify,
        )

        appointment_import_input_request.additional_properties = d
        return appointment_import_input_request

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
