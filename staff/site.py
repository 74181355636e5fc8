"""The admin site: who may use it, and the pages that belong to no model."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied
from django.db import OperationalError
from django.db.models import ForeignKey, Model
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.utils.functional import SimpleLazyObject
from unfold.sites import UnfoldAdminSite

from accounts.new_password import OwnPasswordChangeView
from accounts.pages import account_page
from accounts.sessions import sessions_page, token_view
from accounts.sign_in import SignInView
from accounts.time_zone import use_browser_zone
from accounts.two_factor_views import require_two_factor, second_factor_page, two_factor_page
from accounts.verification import verify_address_page
from foundation.db.retry import is_serialization_failure
from organizations.isolation import bypass_rls
from organizations.permissions import roles_by_organization


class LabeledAutocomplete(AutocompleteJsonView):
    def process_request(self, request: HttpRequest) -> tuple[str, ModelAdmin, ForeignKey, str]:
        term, model_admin, source_field, to_field_name = super().process_request(request)
        # A hand-made request can name a reverse relation, on which Django fails with a server error.
        if source_field.auto_created:
            raise PermissionDenied
        return term, model_admin, source_field, to_field_name

    def serialize_result(self, obj: Model, to_field_name: str) -> dict[str, str]:
        label = getattr(self.model_admin, "choice_label", str)
        return super().serialize_result(obj, to_field_name) | {"text": label(obj)}


class PipelineAdminSite(UnfoldAdminSite):
    empty_value_display = "–"

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        self.disable_action("delete_selected")  # it would bypass the services

    def has_permission(self, request: HttpRequest) -> bool:
        # Roles are read on every request, so that a removed member loses access at once, not when the session ends.
        return request.user.is_active and (request.user.is_superuser or bool(roles_by_organization(request)))

    def admin_view(self, view: Callable[..., HttpResponseBase], cacheable: bool = False) -> Any:
        """Wrap every view except those for signing in: two factors if required, and a second try after a conflict."""
        if view == self.logout:
            return view  # also for people who are no longer a member of any organization

        @wraps(view)
        def retry_after_conflict(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
            try:
                return view(request, *args, **kwargs)
            except OperationalError as error:
                if not is_serialization_failure(error):
                    raise
            except ObjectDoesNotExist:
                pass  # someone has deleted the row that this request wanted to lock: the page says so, now
            # Two people have saved the same rows in a different order. The aborted request has changed nothing.
            return view(request, *args, **kwargs)

        return super().admin_view(require_two_factor(retry_after_conflict), cacheable)

    def login(self, request: HttpRequest, extra_context: object = None) -> HttpResponseBase:
        if request.method == "GET" and self.has_permission(request):
            return HttpResponseRedirect(reverse("admin:index"))
        # The form for signing in would be shown again and again to people who have left their last organization, or
        # have signed in to accept an invitation.
        if request.method == "GET" and request.user.is_authenticated:
            text = "but not a member of any active organization. To join one, open the link in its e-mail to you."
            return account_page(request, "sign_out", "No organization", text=text)
        # The user isn't known yet, so there is no tenant scope in which the account could be found.
        with bypass_rls():
            return SignInView.as_view()(request)

    def logout(self, request: HttpRequest, extra_context: Any = None) -> HttpResponseBase:
        if request.method in ("GET", "HEAD"):  # the address of the page after signing out, opened again
            return HttpResponseRedirect(reverse("admin:index"))
        return super().logout(request, extra_context)

    def password_change(self, request: HttpRequest, extra_context: object = None) -> HttpResponseBase:
        return OwnPasswordChangeView.as_view()(request)

    def autocomplete_view(self, request: HttpRequest) -> HttpResponseBase:
        return LabeledAutocomplete.as_view(admin_site=self)(request)

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> Any:
        """Return Django's list of applications, made when a template shows it: the menu is there in its place."""
        if app_label is None:
            return SimpleLazyObject(lambda: AdminSite.get_app_list(self, request))
        return super().get_app_list(request, app_label)

    def get_urls(self) -> list[URLPattern]:
        # They import pages of models, which register with this site.
        from staff.accounts.own_notifications import own_notifications_page  # noqa: PLC0415
        from staff.growth import growth_page  # noqa: PLC0415
        from staff.reports import reports_page  # noqa: PLC0415
        from staff.search import search_page  # noqa: PLC0415
        from staff.updates import updates_view  # noqa: PLC0415

        reports = self.admin_view(reports_page)
        # Without Unfold's search, which keeps results for five minutes, and Django's redirect to a row's public page.
        urls = [url for url in super().get_urls() if getattr(url, "name", None) not in {"search", "view_on_site"}]
        return [
            path("search/", self.admin_view(search_page), name="search"),
            path("updates/", self.admin_view(updates_view), name="updates"),
            path("growth/", self.admin_view(growth_page), name="growth"),
            path("reports/", reports, name="reports"),
            path("reports/report.csv", reports, {"is_csv": True}, name="reports_csv"),
            path("account/sessions/", self.admin_view(sessions_page), name="sessions"),
            path("account/notifications/", self.admin_view(own_notifications_page), name="own_notifications"),
            path("account/token/", self.admin_view(token_view), name="token"),
            path("account/time-zone/", self.admin_view(use_browser_zone), name="time_zone"),
            path("account/verify/<str:token>/", self.admin_view(verify_address_page), name="verify_address"),
            path("account/two-factor/", self.admin_view(two_factor_page), name="two_factor"),
            path("second-factor/", second_factor_page, name="second_factor"),
            *urls,
        ]
