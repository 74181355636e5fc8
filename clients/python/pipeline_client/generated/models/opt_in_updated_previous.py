from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define

from ..models.opt_in_updated_previous_source import (
    OptInUpdatedPreviousSource,
    check_opt_in_updated_previous_source,
)
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.question_answer import QuestionAnswer
    from ..models.traffic_attribution import TrafficAttribution


T = TypeVar("T", bound="OptInUpdatedPrevious")


@_attrs_define
class OptInUpdatedPrevious:
    """The fields that changed, with their old values.

    Attributes:
        lead_id (UUID | Unset): The lead it created or matched.
        source (OptInUpdatedPreviousSource | Unset): Where the form was submitted.
        provider_form_id (None | str | Unset): The provider's id of the form.
        provider_form_name (None | str | Unset): The provider's name of the form.
        external_reference (None | str | Unset): The provider's reference of the submission.
        question_answers (list[QuestionAnswer] | Unset): The questions and answers, in the order of position.
        traffic_attribution (TrafficAttribution | Unset): The traffic source of the visit.
    """

    lead_id: UUID | Unset = UNSET
    source: OptInUpdatedPreviousSource | Unset = UNSET
    provider_form_id: None | str | Unset = UNSET
    provider_form_name: None | str | Unset = UNSET
    external_reference: None | str | Unset = UNSET
    question_answers: list[QuestionAnswer] | Unset = UNSET
    traffic_attribution: TrafficAttribution | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        lead_id: str | Unset = UNSET
        if not isinstance(self.lead_id, Unset):
            lead_id = str(self.lead_id)

        source: str | Unset = UNSET
        if not isinstance(self.source, Unset):
            source = self.source

        provider_form_id: None | str | Unset
        if isinstance(self.provider_form_id, Unset):
            provider_form_id = UNSET
        else:
            provider_form_id = self.provider_form_id

        provider_form_name: None | str | Unset
        if isinstance(self.provider_form_name, Unset):
            provider_form_name = UNSET
        else:
            provider_form_name = self.provider_form_name

        external_reference: None | str | Unset
        if isinstance(self.external_reference, Unset):
            external_reference = UNSET
        else:
            external_reference = self.external_reference

        question_answers: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.question_answers, Unset):
            question_answers = []
            for question_answers_item_data in self.question_answers:
                question_answers_item = question_answers_item_data.to_dict()
                question_answers.append(question_answers_item)

        traffic_attribution: dict[str, Any] | Unset = UNSET
        if not isinstance(self.traffic_attribution, Unset):
            traffic_attribution = self.traffic_attribution.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if lead_id is not UNSET:
            field_dict["lead_id"] = lead_id
        if source is not UNSET:
            field_dict["source"] = source
        if provider_form_id is not UNSET:
            field_dict["provider_form_id"] = provider_form_id
        if provider_form_name is not UNSET:
            field_dict["provider_form_name"] = provider_form_name
        if external_reference is not UNSET:
            field_dict["external_reference"] = external_reference
        if question_answers is not UNSET:
            field_dict["question_answers"] = question_answers
        if traffic_attribution is not UNSET:
            field_dict["traffic_attribution"] = traffic_attribution

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.question_answer import QuestionAnswer  # noqa: PLC0415
        from ..models.traffic_attribution import TrafficAttribution  # noqa: PLC0415

        d = dict(src_dict)
        _lead_id = d.pop("lead_id", UNSET)
        lead_id: UUID | Unset
        if isinstance(_lead_id, Unset):
            lead_id = UNSET
        else:
            lead_id = UUID(_lead_id)

        _source = d.pop("source", UNSET)
        source: OptInUpdatedPreviousSource | Unset
        if isinstance(_source, Unset):
            source = UNSET
        else:
            source = check_opt_in_updated_previous_source(_source)

        def _parse_provider_form_id(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        provider_form_id = _parse_provider_form_id(d.pop("provider_form_id", UNSET))

        def _parse_provider_form_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        provider_form_name = _parse_provider_form_name(d.pop("provider_form_name", UNSET))

        def _parse_external_reference(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        external_reference = _parse_external_reference(d.pop("external_reference", UNSET))

        _question_answers = d.pop("question_answers", UNSET)
        question_answers: list[QuestionAnswer] | Unset = UNSET
        if _question_answers is not UNSET:
            question_answers = []
            for question_answers_item_data in _question_answers:
                question_answers_item = QuestionAnswer.from_dict(question_answers_item_data)

                question_answers.append(question_answers_item)

        _traffic_attribution = d.pop("traffic_attribution", UNSET)
        traffic_attribution: TrafficAttribution | Unset
        if isinstance(_traffic_attribution, Unset):
            traffic_attribution = UNSET
        else:
            traffic_attribution = TrafficAttribution.from_dict(_traffic_attribution)

        opt_in_updated_previous = cls(
            lead_id=lead_id,
            source=source,
            provider_form_id=provider_form_id,
            provider_form_name=provider_form_name,
            external_reference=external_reference,
            question_answers=question_answers,
            traffic_attribution=traffic_attribution,
        )

        return opt_in_updated_previous
