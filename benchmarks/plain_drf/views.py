"""The baseline's views: DRF's generic viewsets with the product's authentication and rate limits."""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpResponse
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView
from rest_framework.viewsets import ReadOnlyModelViewSet

from appointments.input_serializers import BookingInputSerializer
from appointments.models import Appointment
from benchmarks.plain_drf.booking import book, custom_fields
from benchmarks.plain_drf.serializers import (
    AppointmentDetailSerializer,
    AppointmentSerializer,
    OptInDetailSerializer,
    OptInSerializer,
)
from benchmarks.plain_drf.submission import submit
from foundation.api.viewsets import ApiView
from leads.models import CustomField
from optins.models import OptIn
from optins.serializers import OptInInputSerializer


class LimitPagination(PageNumberPagination):
    """Pages with the parameters `page` and `limit`, and a total from `count(*)`."""

    page_size = 10
    page_size_query_param = "limit"
    max_page_size = 100


class PlainViewSet(ApiView, ReadOnlyModelViewSet):
    """Base class: list and detail with a serializer each."""

    pagination_class = LimitPagination
    detail_serializer_class: type[BaseSerializer]

    def get_serializer_class(self) -> type[BaseSerializer]:
        return self.detail_serializer_class if self.action == "retrieve" else self.serializer_class


class AppointmentViewSet(PlainViewSet):
    """List, read and create appointments."""

    serializer_class = AppointmentSerializer
    detail_serializer_class = AppointmentDetailSerializer

    def get_queryset(self) -> QuerySet[Appointment]:
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
        # Once per request, because every appointment shows the same custom fields.
        fields = custom_fields(self.organization, CustomField.Entity.APPOINTMENT)
        return {**super().get_serializer_context(), "custom_fields": fields}

    @transaction.atomic
    def create(self, request: Request) -> Response:
        serializer = BookingInputSerializer(data=request.data, context={"organization": self.organization})
        serializer.is_valid(raise_exception=True)
        appointment = book(self.organization, self.actor, **serializer.validated_data)
        data = {"id": appointment.pk, "is_duplicate": False}
        return Response({"status": "success", "message": "Appointment created", "data": data}, status=201)


class OptInViewSet(PlainViewSet):
    """List, read and create opt-ins."""

    serializer_class = OptInSerializer
    detail_serializer_class = OptInDetailSerializer

    def get_queryset(self) -> QuerySet[OptIn]:
        return OptIn.objects.of(self.organization).order_by("-created_at", "-id").prefetch_related("question_answers")

    @transaction.atomic
    def create(self, request: Request) -> Response:
        serializer = OptInInputSerializer(data=request.data, context={"organization": self.organization})
        serializer.is_valid(raise_exception=True)
        opt_in = submit(self.organization, self.actor, **serializer.validated_data)
        data = {"opt_in_id": opt_in.pk, "lead_id": opt_in.lead_id}
        return Response({"status": "success", "message": "Opt-in recorded", "data": data}, status=201)


class HelloView(APIView):
    """Returns this many bytes without authentication and without a query."""

    authentication_classes: list[type] = []
    permission_classes: list[type] = []

    def get(self, request: Request, size: int) -> HttpResponse:
        return HttpResponse(b"x" * size, content_type="application/json")
