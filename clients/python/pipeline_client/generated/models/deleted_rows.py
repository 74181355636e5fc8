from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="DeletedRows")


@_attrs_define
class DeletedRows:
    """How many rows were deleted.

    Attributes:
        leads (int): Leads.
        appointments (int): Appointments.
        opt_ins (int): Opt-ins.
        events (int): Events.
    """

    leads: int
    appointments: int
    opt_ins: int
    events: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        leads = self.leads

        appointments = self.appointments

        opt_ins = self.opt_ins

        events = self.events

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "leads": leads,
                "appointments": appointments,
                "opt_ins": opt_ins,
                "events": events,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        leads = d.pop("leads")

        appointments = d.pop("appointments")

        opt_ins = d.pop("opt_ins")

        events = d.pop("events")

        deleted_rows = cls(
            leads=leads,
            appointments=appointments,
            opt_ins=opt_ins,
            events=events,
        )

        deleted_rows.additional_properties = d
        return deleted_rows

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
