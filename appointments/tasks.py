"""Celery tasks of appointments."""

from celery import shared_task

from appointments import day_counts, first_bookings, services
from organizations.models import Organization
from organizations.services import BATCHES_PER_RUN, for_each_organization


@shared_task(name="appointments.remind_leads")
def remind_leads() -> None:
    for_each_organization(services.remind_leads, Organization.objects.filter(is_active=True), BATCHES_PER_RUN)


@shared_task(name="appointments.refresh_touch_points")
def refresh_touch_points() -> None:
    for_each_organization(services.refresh_touch_points, Organization.objects.filter(is_active=True), BATCHES_PER_RUN)


@shared_task(name="appointments.store_days")
def store_days() -> None:
    for_each_organization(day_counts.store_days, Organization.objects.filter(is_active=True), BATCHES_PER_RUN)


@shared_task(name="appointments.store_first_bookings")
def store_first_bookings() -> None:
    organizations = Organization.objects.filter(is_active=True)
    for_each_organization(first_bookings.store_first_bookings, organizations, first_bookings.BATCHES_PER_RUN)
