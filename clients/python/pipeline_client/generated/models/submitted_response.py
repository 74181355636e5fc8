from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.submitted_response_status import (
    SubmittedResponseStatus,
    check_submitted_response_status,
)
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.opt_in_detail import OptInDetail
    from ..models.submitted import Submitted


T = TypeVar("T", bound="SubmittedResponse")


@_attrs_define
class SubmittedResponse:
    """Opt-in recorded.

    Attributes:
        status (SubmittedResponseStatus): Always success.
        message (str): A sentence for people, whose words may change.
        data (Submitted): The result of a submission.
        opt_in (OptInDetail | Unset): An opt-in with its answers and its traffic source.
    """

    status: SubmittedResponseStatus
    message: str
    data: Submitted
    opt_in: OptInDetail | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        status: str = self.status

        message = self.message

        data = self.data.to_dict()

        opt_in: dict[str, Any] | Unset = UNSET
        if not isinstance(self.opt_in, Unset):
            opt_in = self.opt_in.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "status": status,
                "message": message,
                "data": data,
            }
        )
        if opt_in is not UNSET:
            field_dict["opt_in"] = opt_in

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.opt_in_detail import OptInDetail  # noqa: PLC0415
        from ..models.submitted import Submitted  # noqa: PLC0415

        d = dict(src_dict)
        status = check_submitted_response_status(d.pop("status"))

        message = d.pop("message")

        data = Submitted.from_dict(d.pop("data"))

        _opt_in = d.pop("opt_in", UNSET)
        opt_in: OptInDetail | Unset
        if isinstance(_opt_in, Unset):
            opt_in = UNSET
        else:
            opt_in = OptInDetail.from_dict(_opt_in)

        submitted_response = cls(
            status=status,
            message=message,
            data=data,
            opt_in=opt_in,
        )

        submitted_response.additional_properties = d
        return submitted_response

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
