"""The URLs of the local run: those of the project and the inbox."""

from django.urls import include, path

from dev.local import inbox
from pipeline_backend.urls import handler400, handler403, handler404, handler500

urlpatterns = [
    path("", include("pipeline_backend.urls")),
    # The inbox of webhooks and e-mails: open to every user of this computer, and to no other computer.
    path("local/", inbox.show_inbox, name="local-inbox"),
    path("local/inbox", inbox.receive, name="local-inbox-receive"),
]

# Django reads the handlers from this module.
__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]
