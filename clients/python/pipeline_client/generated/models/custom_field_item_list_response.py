from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.custom_field_item import CustomFieldItem
    from ..models.pagination import Pagination


T = TypeVar("T", bound="CustomFieldItemListResponse")


@_attrs_define
class CustomFieldItemListResponse:
    """Custom fields retrieved.

    Attributes:
        success (bool): Always true.
        message (str): A sentence for people, whose words may change.
        data (list[CustomFieldItem]): The items, in the order of the list.
        pagination (Pagination): The place of a page in its list.
    """

    success: bool
    message: str
    data: list[CustomFieldItem]
    pagination: Pagination
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        success = self.success

        message = self.message

        data = []
        for data_item_data in self.data:
            data_item = data_item_data.to_dict()
            data.append(data_item)

        pagination = self.pagination.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "success": success,
                "message": message,
                "data": data,
                "pagination": pagination,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.custom_field_item import CustomFieldItem  # noqa: PLC0415
        from ..models.pagination import Pagination  # noqa: PLC0415

        d = dict(src_dict)
        success = d.pop("success")

        message = d.pop("message")

        data = []
        _data = d.pop("data")
        for data_item_data in _data:
            data_item = CustomFieldItem.from_dict(data_item_data)

            data.append(data_item)

        pagination = Pagination.from_dict(d.pop("pagination"))

        custom_field_item_list_response = cls(
            success=success,
            message=message,
            data=data,
            pagination=pagination,
        )

        custom_field_item_list_response.additional_properties = d
        return custom_field_item_list_response

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
