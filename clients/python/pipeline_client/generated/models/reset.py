from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.deleted_rows import DeletedRows


T = TypeVar("T", bound="Reset")


@_attrs_define
class Reset:
    """The result of resetting a test organization.

    Attributes:
        deleted (DeletedRows): How many rows were deleted.
        is_complete (bool): false: there was too much for one request; send it again.
    """

    deleted: DeletedRows
    is_complete: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        deleted = self.deleted.to_dict()

        is_complete = self.is_complete

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "deleted": deleted,
                "is_complete": is_complete,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.deleted_rows import DeletedRows  # noqa: PLC0415

        d = dict(src_dict)
        deleted = DeletedRows.from_dict(d.pop("deleted"))

        is_complete = d.pop("is_complete")

        reset = cls(
            deleted=deleted,
            is_complete=is_complete,
        )

        reset.additional_properties = d
        return reset

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
