from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.imported_lead import ImportedLead


T = TypeVar("T", bound="LeadImport")


@_attrs_define
class LeadImport:
    """The result of an import of leads.

    Attributes:
        created (int): How many rows have created something.
        existing (int): How many rows were done and have created nothing.
        failed (int): How many rows were not done.
        rows (list[ImportedLead]): The result of each row, in the order of the request.
    """

    created: int
    existing: int
    failed: int
    rows: list[ImportedLead]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        created = self.created

        existing = self.existing

        failed = self.failed

        rows = []
        for rows_item_data in self.rows:
            rows_item = rows_item_data.to_dict()
            rows.append(rows_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "created": created,
                "existing": existing,
                "failed": failed,
                "rows": rows,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.imported_lead import ImportedLead  # noqa: PLC0415

        d = dict(src_dict)
        created = d.pop("created")

        existing = d.pop("existing")

        failed = d.pop("failed")

        rows = []
        _rows = d.pop("rows")
        for rows_item_data in _rows:
            rows_item = ImportedLead.from_dict(rows_item_data)

            rows.append(rows_item)

        lead_import = cls(
            created=created,
            existing=existing,
            failed=failed,
            rows=rows,
        )

        lead_import.additional_properties = d
        return lead_import

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
