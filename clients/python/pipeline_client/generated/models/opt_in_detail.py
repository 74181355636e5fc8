from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.opt_in_detail_source import OptInDetailSource, check_opt_in_detail_source

if TYPE_CHECKING:
    from ..models.question_answer import QuestionAnswer
    from ..models.traffic_attribution import TrafficAttribution


T = TypeVar("T", bound="OptInDetail")


@_attrs_define
class OptInDetail:
    """An opt-in with its answers and its traffic source.

    Attributes:
        id (UUID): The opt-in's id.
        lead_id (UUID): The lead it created or matched.
        source (OptInDetailSource): Where the form was submitted.
        provider_form_id (None | str): The provider's id of the form.
        provider_form_name (None | str): The provider's name of the form.
        external_reference (None | str): The provider's reference of the submission.
        created_at (datetime.datetime): When the opt-in was stored.
        question_answers (list[QuestionAnswer]): The questions and answers, in the order of position.
        traffic_attribution (TrafficAttribution): The traffic source of the visit.
    """

    id: UUID
    lead_id: UUID
    source: OptInDetailSource
    provider_form_id: None | str
    provider_form_name: None | str
    external_reference: None | str
    created_at: datetime.datetime
    question_answers: list[QuestionAnswer]
    traffic_attribution: TrafficAttribution
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        lead_id = str(self.lead_id)

        source: str = self.source

        provider_form_id: None | str
        provider_form_id = self.provider_form_id

        provider_form_name: None | str
        provider_form_name = self.provider_form_name

        external_reference: None | str
        external_reference = self.external_reference

        created_at = self.created_at.isoformat()

        question_answers = []
        for question_answers_item_data in self.question_answers:
            question_answers_item = question_answers_item_data.to_dict()
            question_answers.append(question_answers_item)

        traffic_attribution = self.traffic_attribution.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "lead_id": lead_id,
                "source": source,
                "provider_form_id": provider_form_id,
                "provider_form_name": provider_form_name,
                "external_reference": external_reference,
                "created_at": created_at,
                "question_answers": question_answers,
                "traffic_attribution": traffic_attribution,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.question_answer import QuestionAnswer  # noqa: PLC0415
        from ..models.traffic_attribution import TrafficAttribution  # noqa: PLC0415

        d = dict(src_dict)
        id = UUID(d.pop("id"))

        lead_id = UUID(d.pop("lead_id"))

        source = check_opt_in_detail_source(d.pop("source"))

        def _parse_provider_form_id(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        provider_form_id = _parse_provider_form_id(d.pop("provider_form_id"))

        def _parse_provider_form_name(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        provider_form_name = _parse_provider_form_name(d.pop("provider_form_name"))

        def _parse_external_reference(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        external_reference = _parse_external_reference(d.pop("external_reference"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        question_answers = []
        _question_answers = d.pop("question_answers")
        for question_answers_item_data in _question_answers:
            question_answers_item = QuestionAnswer.from_dict(question_answers_item_data)

            question_answers.append(question_answers_item)

        traffic_attribution = TrafficAttribution.from_dict(d.pop("traffic_attribution"))

        opt_in_detail = cls(
            id=id,
            lead_id=lead_id,
            source=source,
            provider_form_id=provider_form_id,
            provider_form_name=provider_form_name,
            external_reference=external_reference,
            created_at=created_at,
            question_answers=question_answers,
            traffic_attribution=traffic_attribution,
        )

        opt_in_detail.additional_properties = d
        return opt_in_detail

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
