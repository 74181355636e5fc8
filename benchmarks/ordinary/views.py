"""The yardsticks' views."""

from typing import Any

from django.db import transaction
from django.http import HttpResponse
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import ReadOnlyModelViewSet

from appointments.models import Appointment
from appointments.serializers import BookingInputSerializer
from benchmarks.ordinary.booking import book
from benchmarks.ordinary.serializers import (
    AppointmentDetailSerializer,
    AppointmentSerializer,
    OptInDetailSerializer,
    OptInSerializer,
)
from benchmarks.ordinary.submitting import submit
from leads.models import CustomField
from optins.models import OptIn
from optins.serializers import OptInInputSerializer
from pipeline_backend.api.viewsets import ApiView


class Pages(PageNumberPagination):
    """`page` and `limit`, with `count(*)`."""

    page_size = 10
    page_size_query_param = "limit"
    max_page_size = 100


class Ordinary(ApiView, ReadOnlyModelViewSet):
    """Our key and limits, DRF's viewset."""

    pagination_class = Pages
    detail_serializer_class: Any = None

    def get_serializer_class(self) -> Any:
        return self.detail_serializer_class if self.action == "retrieve" else self.serializer_class


class Appointments(Ordinary):
    """Appointments."""

    serializer_class = AppointmentSerializer
    detail_serializer_class = AppointmentDetailSerializer

    def get_queryset(self) -> Any:
        rows = Appointment.objects.of(self.organization).order_by("-created_at", "-id")
        rows = rows.select_related(
            "lead",
            "host__user",
            "setter__user",
            "triager__user",
            "event_type",
            "outcome",
            "call_analysis",
            "first_source",
            "last_source",
        )
        return rows if self.action == "retrieve" else rows.prefetch_related("notes__mention_users__user")

    def get_serializer_context(self) -> dict[str, Any]:
        fields = (
            CustomField.objects.of(self.organization)
            .filter(entity=CustomField.Entity.APPOINTMENT)
            .order_by("position", "key")
        )
        return {**super().get_serializer_context(), "custom_fields": list(fields)}

    @transaction.atomic
    def create(self, request: Request) -> Response:
        """Book a call."""
        given = BookingInputSerializer(data=request.data, context={"organization": self.organization})
        given.is_valid(raise_exception=True)
        appointment = book(self.organization, self.actor, **given.validated_data)
        return Response(
            {
                "status": "success",
                "message": "Appointment created",
                "data": {"id": appointment.pk, "is_duplicate": False},
            },
            status=201,
        )


class OptIns(Ordinary):
    """Opt-ins."""

    serializer_class = OptInSerializer
    detail_serializer_class = OptInDetailSerializer

    def get_queryset(self) -> Any:
        return OptIn.objects.of(self.organization).order_by("-created_at", "-id").prefetch_related("question_answers")

    @transaction.atomic
    def create(self, request: Request) -> Response:
        """Record a submission."""
        given = OptInInputSerializer(data=request.data, context={"organization": self.organization})
        given.is_valid(raise_exception=True)
        opt_in = submit(self.organization, self.actor, **given.validated_data)
        return Response(
            {
                "status": "success",
                "message": "Opt-in recorded",
                "data": {"opt_in_id": opt_in.pk, "lead_id": opt_in.lead_id},
            },
            status=201,
        )


class Hello(APIView):
    """A view that answers so many bytes, and asks nobody."""

    authentication_classes: Any = []
    permission_classes: Any = []

    def get(self, request: Request, size: int) -> HttpResponse:
        """Bytes."""
        return HttpResponse(b"x" * size, content_type="application/json")
