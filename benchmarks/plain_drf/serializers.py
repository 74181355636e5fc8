"""The objects of the API as model serializers."""

from typing import Any

from django.db import models
from rest_framework import serializers

from appointments.models import Appointment, CallAnalysis, EventType, Note
from leads.models import CustomField, Lead, Source
from optins.models import UTM_FIELDS, OptIn, QuestionAnswer
from organizations.models import Membership
from statuses.models import Status

TIMESTAMP_FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"


class TimestampSerializer(serializers.ModelSerializer):
    """A model serializer that renders all timestamps in the API's format."""

    def build_standard_field(
        self, field_name: str, model_field: models.Field
    ) -> tuple[type[serializers.Field], dict[str, Any]]:
        field_class, options = super().build_standard_field(field_name, model_field)
        if issubclass(field_class, serializers.DateTimeField):
            options["format"] = TIMESTAMP_FORMAT
        return field_class, options


class LeadSerializer(TimestampSerializer):
    class Meta:
        model = Lead
        fields = [
            "id",
            "first_name",
            "last_name",
            "email",
            "phone_e164",
            "phone_country",
            "next_touch_point_at",
            "next_touch_point_type",
        ]


class UserSerializer(serializers.ModelSerializer):
    id = serializers.CharField(source="user.id")
    first_name = serializers.CharField(source="user.first_name")
    last_name = serializers.CharField(source="user.last_name")
    email = serializers.CharField(source="user.email")
    profile_image_url = serializers.CharField(source="user.profile_image_url")

    class Meta:
        model = Membership
        fields = ["first_name", "last_name", "email", "profile_image_url", "id", "role"]


class EventTypeSerializer(serializers.ModelSerializer):
    class Meta:
        model = EventType
        fields = ["id", "provider", "owner_name"]


class StatusSerializer(TimestampSerializer):
    class Meta:
        model = Status
        fields = ["id", "name", "role", "description", "text_color", "bg_color", "created_at"]


class NoteSerializer(serializers.ModelSerializer):
    mention_users = UserSerializer(many=True)

    class Meta:
        model = Note
        fields = ["note", "mention_users"]


class CallAnalysisSerializer(TimestampSerializer):
    class Meta:
        model = CallAnalysis
        fields = [
            "id",
            "call_analysis_call_id",
            "ai_generated_title",
            "ai_rationale",
            "ai_suggested_outcome",
            "ai_confidence_score",
            "appointment_id",
            "created_at",
        ]


class SourceSerializer(serializers.ModelSerializer):
    class Meta:
        model = Source
        fields = ["id", "name"]


class OptInSerializer(TimestampSerializer):
    class Meta:
        model = OptIn
        fields = [
            "id",
            "lead_id",
            "source",
            "provider_form_id",
            "provider_form_name",
            "external_reference",
            "created_at",
        ]


class AnswerSerializer(serializers.ModelSerializer):
    class Meta:
        model = QuestionAnswer
        fields = ["id", "question", "answer", "position"]


class OptInDetailSerializer(OptInSerializer):
    question_answers = AnswerSerializer(many=True)
    traffic_attribution = serializers.SerializerMethodField()

    def get_traffic_attribution(self, opt_in: OptIn) -> dict[str, Any]:
        return {name: getattr(opt_in, name) for name in [*UTM_FIELDS, "referrer", "landing_page"]}

    class Meta(OptInSerializer.Meta):
        fields = [*OptInSerializer.Meta.fields, "question_answers", "traffic_attribution"]


class CustomFieldsSerializer(TimestampSerializer):
    """Adds the values of custom fields. The context must contain the list `custom_fields`, read once per request."""

    custom_fields = serializers.SerializerMethodField()

    def get_custom_fields(self, row: Appointment | Lead) -> list[dict[str, Any]]:
        fields: list[CustomField] = self.context["custom_fields"]
        return [
            {
                "id": field.pk,
                "key": field.key,
                "label": field.label,
                "type": field.type,
                "value": row.custom_values.get(str(field.pk)),
            }
            for field in fields
        ]


class AppointmentSerializer(CustomFieldsSerializer):
    lead = LeadSerializer()
    host = UserSerializer()
    setter = UserSerializer()
    triager = UserSerializer()
    appointment_type = serializers.CharField(source="event_type.name")
    appointment_event_type = EventTypeSerializer(source="event_type")
    outcome = StatusSerializer()
    notes = serializers.SerializerMethodField()
    call_analysis = serializers.SerializerMethodField()

    def get_notes(self, appointment: Appointment) -> dict[str, Any] | None:
        notes = list(appointment.notes.all())
        return NoteSerializer(notes[0]).data if notes else None

    def get_call_analysis(self, appointment: Appointment) -> dict[str, Any] | None:
        analysis = getattr(appointment, "call_analysis", None)
        return CallAnalysisSerializer(analysis).data if analysis else None

    class Meta:
        model = Appointment
        fields = [
            "id",
            "lead",
            "schedule_time",
            "host",
            "setter",
            "triager",
            "meeting_url",
            "appointment_type",
            "call_category",
            "appointment_event_type",
            "outcome",
            "notes",
            "recording_url",
            "no_show",
            "source",
            "external_reference",
            *UTM_FIELDS,
            "call_analysis",
            "custom_fields",
            "created_at",
            "updated_at",
        ]


class AppointmentDetailSerializer(AppointmentSerializer):
    first_source = SourceSerializer()
    last_source = SourceSerializer()
    opt_ins = serializers.SerializerMethodField()

    def get_opt_ins(self, appointment: Appointment) -> list[dict[str, Any]]:
        return OptInSerializer(appointment.lead.opt_ins.order_by("-created_at", "-id")[:3], many=True).data

    class Meta(AppointmentSerializer.Meta):
        fields = [
            *(name for name in AppointmentSerializer.Meta.fields if name not in {"notes", *UTM_FIELDS}),
            "first_source",
            "last_source",
            "opt_ins",
        ]


class NoteEventSerializer(TimestampSerializer):
    mention_users = UserSerializer(many=True)
    author = serializers.SerializerMethodField()
    appointment = AppointmentDetailSerializer()

    def get_author(self, note: Note) -> dict[str, str]:
        return {"kind": note.actor_kind, "id": note.actor_id, "name": note.actor_name}

    class Meta:
        model = Note
        fields = ["id", "note", "mention_users", "author", "created_at", "appointment"]


class LeadDetailSerializer(CustomFieldsSerializer):
    status = StatusSerializer()
    setter = UserSerializer()
    first_source = SourceSerializer()
    last_source = SourceSerializer()

    class Meta:
        model = Lead
        fields = [
            *LeadSerializer.Meta.fields,
            "status",
            "setter",
            "first_source",
            "last_source",
            "custom_fields",
            "created_at",
            "updated_at",
        ]
