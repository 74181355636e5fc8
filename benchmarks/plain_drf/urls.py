"""URLs of the baseline."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from benchmarks.plain_drf.views import AppointmentViewSet, HelloView, OptInViewSet
from pipeline_backend.web.health import readyz

router = SimpleRouter(trailing_slash=False)
router.register("api/plain-drf/appointments", AppointmentViewSet, basename="appointment")
router.register("api/plain-drf/opt-ins", OptInViewSet, basename="opt-in")

urlpatterns = [*router.urls, path("api/hello/<int:size>", HelloView.as_view()), path("readyz", readyz)]
