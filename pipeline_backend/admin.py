"""The admin site and its menu."""

from unfold.sites import UnfoldAdminSite


class Site(UnfoldAdminSite):
    """Our admin."""

    site_title = site_header = "Pipeline Backend"
