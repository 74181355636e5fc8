"""URLs of notifications, below the root."""

from django.urls import path

from notifications.views import unsubscribe_page

urlpatterns = [path("unsubscribe/<str:token>", unsubscribe_page, name="unsubscribe")]
