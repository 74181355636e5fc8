from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.validation_error_status import (
    ValidationErrorStatus,
    check_validation_error_status,
)
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.validation_error_errors import ValidationErrorErrors


T = TypeVar("T", bound="ValidationError")


@_attrs_define
class ValidationError:
    """A request with errors.

    Attributes:
        status (ValidationErrorStatus): Always error.
        message (str): A sentence for people, whose words may change.
        errors (ValidationErrorErrors | Unset): The messages by the name of the field or parameter; absent if the body
            isn't valid JSON.
    """

    status: ValidationErrorStatus
    message: str
    errors: ValidationErrorErrors | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        status: str = self.status

        message = self.message

        errors: dict[str, Any] | Unset = UNSET
        if not isinstance(self.errors, Unset):
            errors = self.errors.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "status": status,
                "message": message,
            }
        )
        if errors is not UNSET:
            field_dict["errors"] = errors

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.validation_error_errors import ValidationErrorErrors  # noqa: PLC0415

        d = dict(src_dict)
        status = check_validation_error_status(d.pop("status"))

        message = d.pop("message")

        _errors = d.pop("errors", UNSET)
        errors: ValidationErrorErrors | Unset
        if isinstance(_errors, Unset):
            errors = UNSET
        else:
            errors = ValidationErrorErrors.from_dict(_errors)

        validation_error = cls(
            status=status,
            message=message,
            errors=errors,
        )

        validation_error.additional_properties = d
        return validation_error

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
