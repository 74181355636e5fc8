"""Unfold, the admin's look."""

from django.templatetags.static import static
from django.urls import reverse_lazy

UNFOLD = {
    "SITE_TITLE": "Pipeline Backend",
    "SITE_HEADER": "Pipeline Backend",
    "SITE_SUBHEADER": "staff.menu.subheader",
    "SITE_SYMBOL": "filter_alt",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("staff/icon.svg")}],
    "STYLES": [lambda request: static("staff/admin.css"), lambda request: static("staff/search.css")],
    "SCRIPTS": [lambda request: static("staff/admin.js")],
    "SITE_URL": None,
    "SHOW_VIEW_ON_SITE": False,
    "DASHBOARD_CALLBACK": "staff.home.home",
    "SIDEBAR": {"navigation": "staff.menu.menu"},
    "TABS": [
        {
            "models": ["leads.leadnote", "appointments.note"],
            "items": [
                {"title": "About leads", "link": reverse_lazy("admin:leads_leadnote_changelist")},
                {"title": "About appointments", "link": reverse_lazy("admin:appointments_note_changelist")},
            ],
        }
    ],
}
