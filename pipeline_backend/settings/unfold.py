"""Unfold, the admin's look."""

from django.templatetags.static import static

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
                # Unfold would reverse the name of a view sixteen times on each page.
                {"title": "About leads", "link": "/admin/leads/leadnote/"},
                {"title": "About appointments", "link": "/admin/appointments/note/"},
            ],
        }
    ],
}
