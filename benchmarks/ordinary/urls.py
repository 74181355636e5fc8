"""Addresses of the yardsticks."""

from django.urls import path
from rest_framework.routers import SimpleRouter

from benchmarks.ordinary.views import Appointments, Hello, OptIns
from pipeline_backend.web.health import readyz

router = SimpleRouter(trailing_slash=False)
router.register("ordinary/appointments", Appointments, basename="appointment")
router.register("ordinary/opt-ins", OptIns, basename="opt-in")

urlpatterns = [*router.urls, path("hello/<int:size>", Hello.as_view()), path("readyz", readyz)]
