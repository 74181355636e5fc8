"""The admin site: who may sign in, and what its views have in common."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.admin import ModelAdmin
from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.db.models import ForeignKey, Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.utils.module_loading import import_string
from unfold.sites import UnfoldAdminSite

from accounts.password_change import OwnPasswordChangeView
from accounts.session_views import sessions_page, token_view
from accounts.sign_in import SignInForm
from accounts.two_factor_views import SignInView, require_two_factor, second_factor_page, two_factor_page
from foundation.db.retry import is_serialization_failure
from organizations.isolation import bypass_rls
from organizations.permissions import roles_by_organization


class LabeledAutocomplete(AutocompleteJsonView):
    """Autocompletion whose choices can have a longer label than the row's name."""

    def process_request(self, request: HttpRequest) -> tuple[str, ModelAdmin, ForeignKey, str]:
        """Return Django's parse of the request; refuse reverse relations."""
        term, model_admin, source_field, to_field_name = super().process_request(request)
        # A hand-made request can name a reverse relation, on which Django fails with a server error.
        if source_field.auto_created:
            raise PermissionDenied
        return term, model_admin, source_field, to_field_name

    def serialize_result(self, obj: Model, to_field_name: str) -> dict[str, str]:
        """Return a choice with the label that the model's page defines in `choice_label`, if it does."""
        label = getattr(self.model_admin, "choice_label", str)
        return super().serialize_result(obj, to_field_name) | {"text": label(obj)}


def retry_on_deadlock(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Run an admin view again, once, if PostgreSQL aborted its transaction.

    Two people who save the same rows in a different order deadlock. The aborted request has changed nothing, so it can
    be repeated.
    """

    @wraps(view)
    def wrapper(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except OperationalError as error:
            if not is_serialization_failure(error):
                raise
        return view(request, *args, **kwargs)

    return wrapper


class PipelineAdminSite(UnfoldAdminSite):
    """Unfold's admin site with our rules for access."""

    login_form = SignInForm
    empty_value_display = "–"

    def has_permission(self, request: HttpRequest) -> bool:
        """Return whether the user is an operator, or has a role in an active organization."""
        # Roles are read on every request, so that a removed member loses access at once, not when the session ends.
        return request.user.is_active and (request.user.is_superuser or bool(roles_by_organization(request)))

    def admin_view(self, view: Callable[..., HttpResponseBase], cacheable: bool = False) -> Any:
        """Wrap every view except those for signing in."""
        if view == self.logout:
            return view  # also for people who are no longer a member of any organization
        return super().admin_view(require_two_factor(retry_on_deadlock(view)), cacheable)

    def login(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponseBase:
        """Show the sign-in form and sign in, or go on to the second factor."""
        request.current_app = self.name
        # The user isn't known yet, so there is no tenant scope in which the account could be found.
        with bypass_rls():
            if request.method == "GET" and self.has_permission(request):
                return HttpResponseRedirect(reverse("admin:index"))
            context = {
                **self.each_context(request),
                "title": "Log in",
                "app_path": request.get_full_path(),
                **(extra_context or {}),
            }
            view = SignInView.as_view(
                authentication_form=self.login_form, template_name="admin/login.html", extra_context=context
            )
            return view(request)

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponseBase:
        """Show the page for changing one's own password."""
        request.current_app = self.name
        context = {**self.each_context(request), **(extra_context or {})}
        return OwnPasswordChangeView.as_view(extra_context=context)(request)

    def get_urls(self) -> list[URLPattern]:
        """Return the admin's URLs, without Django's redirect to a row's public page: no row has one."""
        return [url for url in super().get_urls() if getattr(url, "name", None) != "view_on_site"]

    def extra_urls(self) -> list[URLPattern]:
        """Return the reports, the pages of the user's own account, and the second step of signing in."""
        # It imports other pages' modules, which register with this site.
        from staff.reports import reports_page  # noqa: PLC0415

        view = self.admin_view(reports_page)
        return [
            path("reports/", view, name="reports"),
            path("reports/report.csv", view, {"is_csv": True}, name="reports_csv"),
            path("account/sessions/", self.admin_view(sessions_page), name="sessions"),
            path("account/token/", self.admin_view(token_view), name="token"),
            path("account/two-factor/", self.admin_view(two_factor_page), name="two_factor"),
            path("second-factor/", second_factor_page, name="second_factor"),
        ]

    def autocomplete_view(self, request: HttpRequest) -> HttpResponseBase:
        """Return choices for a typed term, among the rows that the user may see."""
        return LabeledAutocomplete.as_view(admin_site=self)(request)

    def search(self, request: HttpRequest, extra_context: object = None) -> HttpResponse:
        """Show what a search over everything finds, in place of Unfold's search, which keeps it for five minutes."""
        # By its name: it needs the pages of leads and appointments, which need this site.
        response: HttpResponse = import_string("staff.search.search_page")(request)
        return response
