"""URLs of notifications, below the root."""

from django.urls import path

from notifications.views import unsubscribe_from_notifications

urlpatterns = [path("unsubscribe/<str:token>", unsubscribe_from_notifications, name="unsubscribe")]
