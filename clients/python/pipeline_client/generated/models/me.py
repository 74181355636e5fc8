from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.key import Key
    from ..models.limits import Limits
    from ..models.organization import Organization


T = TypeVar("T", bound="Me")


@_attrs_define
class Me:
    """What a key gives access to.

    Attributes:
        organization (Organization): The organization that the key belongs to.
        key (Key): The key of the request.
        limits (Limits): Limits of requests.
        last_event_id (None | UUID): The newest event of the events list, to be passed as after; null without events.
        version (str): The version of the service that runs.
    """

    organization: Organization
    key: Key
    limits: Limits
    last_event_id: None | UUID
    version: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        organization = self.organization.to_dict()

        key = self.key.to_dict()

        limits = self.limits.to_dict()

        last_event_id: None | str
        if isinstance(self.last_event_id, UUID):
            last_event_id = str(self.last_event_id)
        else:
            last_event_id = self.last_event_id

        version = self.version

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "organization": organization,
                "key": key,
                "limits": limits,
                "last_event_id": last_event_id,
                "version": version,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.key import Key  # noqa: PLC0415
        from ..models.limits import Limits  # noqa: PLC0415
        from ..models.organization import Organization  # noqa: PLC0415

        d = dict(src_dict)
        organization = Organization.from_dict(d.pop("organization"))

        key = Key.from_dict(d.pop("key"))

        limits = Limits.from_dict(d.pop("limits"))

        def _parse_last_event_id(data: object) -> None | UUID:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                last_event_id_type_0 = UUID(data)

                return last_event_id_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | UUID, data)

        last_event_id = _parse_last_event_id(d.pop("last_event_id"))

        version = d.pop("version")

        me = cls(
            organization=organization,
            key=key,
            limits=limits,
            last_event_id=last_event_id,
            version=version,
        )

        me.additional_properties = d
        return me

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
