from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="TrafficInputRequest")


@_attrs_define
class TrafficInputRequest:
    """The traffic source of the visit. Each value is stored as text, trimmed and cut to 8,192 characters.

    Nothing is refused here: another type is stored as text, and anything in place of the object counts as absent.

        Attributes:
            utm_source (None | str | Unset): The URL's utm_source.
            utm_medium (None | str | Unset): The URL's utm_medium.
            utm_campaign (None | str | Unset): The URL's utm_campaign.
            utm_content (None | str | Unset): The URL's utm_content. The user id (user_…) of an active member who is not a
                viewer makes that member the lead's setter.
            utm_term (None | str | Unset): The URL's utm_term.
            referrer (None | str | Unset): The page that the visitor came from.
            landing_page (None | str | Unset): The first page that the visitor saw.
    """

    utm_source: None | str | Unset = UNSET
    utm_medium: None | str | Unset = UNSET
    utm_campaign: None | str | Unset = UNSET
    utm_content: None | str | Unset = UNSET
    utm_term: None | str | Unset = UNSET
    referrer: None | str | Unset = UNSET
    landing_page: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        utm_source: None | str | Unset
        if isinstance(self.utm_source, Unset):
            utm_source = UNSET
        else:
            utm_source = self.utm_source

        utm_medium: None | str | Unset
        if isinstance(self.utm_medium, Unset):
            utm_medium = UNSET
        else:
            utm_medium = self.utm_medium

        utm_campaign: None | str | Unset
        if isinstance(self.utm_campaign, Unset):
            utm_campaign = UNSET
        else:
            utm_campaign = self.utm_campaign

        utm_content: None | str | Unset
        if isinstance(self.utm_content, Unset):
            utm_content = UNSET
        else:
            utm_content = self.utm_content

        utm_term: None | str | Unset
        if isinstance(self.utm_term, Unset):
            utm_term = UNSET
        else:
            utm_term = self.utm_term

        referrer: None | str | Unset
        if isinstance(self.referrer, Unset):
            referrer = UNSET
        else:
            referrer = self.referrer

        landing_page: None | str | Unset
        if isinstance(self.landing_page, Unset):
            landing_page = UNSET
        else:
            landing_page = self.landing_page

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if utm_source is not UNSET:
            field_dict["utm_source"] = utm_source
        if utm_medium is not UNSET:
            field_dict["utm_medium"] = utm_medium
        if utm_campaign is not UNSET:
            field_dict["utm_campaign"] = utm_campaign
        if utm_content is not UNSET:
            field_dict["utm_content"] = utm_content
        if utm_term is not UNSET:
            field_dict["utm_term"] = utm_term
        if referrer is not UNSET:
            field_dict["referrer"] = referrer
        if landing_page is not UNSET:
            field_dict["landing_page"] = landing_page

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)

        def _parse_utm_source(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        utm_source = _parse_utm_source(d.pop("utm_source", UNSET))

        def _parse_utm_medium(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        utm_medium = _parse_utm_medium(d.pop("utm_medium", UNSET))

        def _parse_utm_campaign(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        utm_campaign = _parse_utm_campaign(d.pop("utm_campaign", UNSET))

        def _parse_utm_content(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        utm_content = _parse_utm_content(d.pop("utm_content", UNSET))

        def _parse_utm_term(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        utm_term = _parse_utm_term(d.pop("utm_term", UNSET))

        def _parse_referrer(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        referrer = _parse_referrer(d.pop("referrer", UNSET))

        def _parse_landing_page(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        landing_page = _parse_landing_page(d.pop("landing_page", UNSET))

        traffic_input_request = cls(
            utm_source=utm_source,
            utm_medium=utm_medium,
            utm_campaign=utm_campaign,
            utm_content=utm_content,
            utm_term=utm_term,
            referrer=referrer,
            landing_page=landing_page,
        )

        traffic_input_request.additional_properties = d
        return traffic_input_request

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
