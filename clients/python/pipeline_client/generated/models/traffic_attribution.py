from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="TrafficAttribution")


@_attrs_define
class TrafficAttribution:
    """The traffic source of the visit.

    Attributes:
        utm_source (None | str): The URL's utm_source.
        utm_medium (None | str): The URL's utm_medium.
        utm_campaign (None | str): The URL's utm_campaign.
        utm_content (None | str): The URL's utm_content.
        utm_term (None | str): The URL's utm_term.
        referrer (None | str): The page that the visitor came from.
        landing_page (None | str): The first page that the visitor saw.
    """

    utm_source: None | str
    utm_medium: None | str
    utm_campaign: None | str
    utm_content: None | str
    utm_term: None | str
    referrer: None | str
    landing_page: None | str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        utm_source: None | str
        utm_source = self.utm_source

        utm_medium: None | str
        utm_medium = self.utm_medium

        utm_campaign: None | str
        utm_campaign = self.utm_campaign

        utm_content: None | str
        utm_content = self.utm_content

        utm_term: None | str
        utm_term = self.utm_term

        referrer: None | str
        referrer = self.referrer

        landing_page: None | str
        landing_page = self.landing_page

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "utm_source": utm_source,
                "utm_medium": utm_medium,
                "utm_campaign": utm_campaign,
                "utm_content": utm_content,
                "utm_term": utm_term,
                "referrer": referrer,
                "landing_page": landing_page,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_utm_source(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        utm_source = _parse_utm_source(d.pop("utm_source"))

        def _parse_utm_medium(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        utm_medium = _parse_utm_medium(d.pop("utm_medium"))

        def _parse_utm_campaign(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        utm_campaign = _parse_utm_campaign(d.pop("utm_campaign"))

        def _parse_utm_content(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        utm_content = _parse_utm_content(d.pop("utm_content"))

        def _parse_utm_term(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        utm_term = _parse_utm_term(d.pop("utm_term"))

        def _parse_referrer(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        referrer = _parse_referrer(d.pop("referrer"))

        def _parse_landing_page(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        landing_page = _parse_landing_page(d.pop("landing_page"))

        traffic_attribution = cls(
            utm_source=utm_source,
            utm_medium=utm_medium,
            utm_campaign=utm_campaign,
            utm_content=utm_content,
            utm_term=utm_term,
            referrer=referrer,
            landing_page=landing_page,
        )

        traffic_attribution.additional_properties = d
        return traffic_attribution

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
