"""The admin site: who may sign in, and what its views have in common."""

from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any

from django.contrib.admin import ModelAdmin
from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.contrib.auth import forms as auth_forms
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.views import PasswordChangeView
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.validators import MaxLengthValidator
from django.db import OperationalError
from django.db.models import ForeignKey, Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse, reverse_lazy
from django.utils.module_loading import import_string
from unfold.forms import AdminOwnPasswordChangeForm, AuthenticationForm
from unfold.sites import UnfoldAdminSite

from organizations.isolation import bypass_rls
from organizations.models import SecurityEvent, SecurityEventKind, User
from organizations.passwords import hashing_for
from organizations.permissions import current_user, roles_by_organization
from organizations.security_log import record_security_event
from organizations.sign_in_limits import (
    TOO_MANY_ATTEMPTS,
    is_old_password_check_allowed,
    is_sign_in_allowed,
    known_browser_id,
    remember_browser,
)
from pipeline_backend.accounts.invitations import has_open_invitation
from pipeline_backend.admin.sessions import sessions_page
from pipeline_backend.admin.stale_forms import token_view
from pipeline_backend.admin.two_factor import SignInView, require_two_factor, second_factor_page, two_factor_page
from pipeline_backend.db.retry import is_serialization_failure
from pipeline_backend.db.timestamps import now

WRONG_GUESS = "Wrong old password, in a session"
WRONG_GUESSES_UNTIL_MAIL = 3


class SignInForm(AuthenticationForm):
    """The sign-in form, with the limits of `organizations.sign_in_limits`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Django sets a maximum length and doesn't check it. Normalizing a name takes time that grows with its square.
        self.fields["username"].validators.append(MaxLengthValidator(self.fields["username"].max_length))

    def clean(self) -> dict[str, object]:
        """Count the attempt, then check the password."""
        name = self.cleaned_data.get("username")
        if not name or not self.cleaned_data.get("password"):
            return super().clean()  # no password will be checked
        try:
            account = User.objects.get_by_natural_key(name)
        except User.DoesNotExist:
            account = None
        # Counted first, and for unknown accounts as well: the refusal must not tell which accounts exist.
        if not is_sign_in_allowed(self.request, name, account):
            raise ValidationError(TOO_MANY_ATTEMPTS)
        with hashing_for(stranger=not known_browser_id(self.request, account)):
            return super().clean()

    def confirm_login_allowed(self, user: User) -> None:
        """Refuse users who are neither an operator, nor an active member of an active organization, nor invited."""
        # Past Django's admin, which asks for `is_staff`: that decides nothing here.
        auth_forms.AuthenticationForm.confirm_login_allowed(self, user)
        if not user.is_superuser and not user.roles and not has_open_invitation(user):
            raise ValidationError("You are not a member of any active organization.")


class OwnPasswordChangeForm(AdminOwnPasswordChangeForm):
    """The form for changing one's password, with a limit on guesses of the old one.

    Whoever has taken over a session must not find out the password with it.
    """

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        self.request = request
        super().__init__(current_user(request), *args, **kwargs)

    def clean_old_password(self) -> str:
        """Return the old password. Raises ValidationError if it is wrong, or past the limit."""
        if not is_old_password_check_allowed(self.request, self.user):
            raise ValidationError(TOO_MANY_ATTEMPTS)
        try:
            password: str = super().clean_old_password()
        except ValidationError:
            record_wrong_old_password(self.user)
            raise
        return password


def record_wrong_old_password(user: User) -> None:
    """Log a wrong old password; after several in a day, the person gets an e-mail."""
    last_day = now() - timedelta(days=1)
    with bypass_rls():  # the same for every role: who may read the log has no influence
        earlier = SecurityEvent.objects.filter(
            user=user, kind=SecurityEventKind.SIGN_IN_FAILED, details=WRONG_GUESS, created_at__gte=last_day
        ).count()
    record_security_event(
        SecurityEventKind.SIGN_IN_FAILED,
        user=user,
        details=WRONG_GUESS,
        is_mailed=earlier + 1 == WRONG_GUESSES_UNTIL_MAIL,
    )


class OwnPasswordChangeView(PasswordChangeView):
    """Django's page for changing one's password."""

    form_class = OwnPasswordChangeForm
    success_url = reverse_lazy("admin:password_change_done")

    def get_form_kwargs(self) -> dict[str, Any]:
        """Return the form's arguments: the request in place of the user."""
        arguments = super().get_form_kwargs()
        del arguments["user"]
        return arguments | {"request": self.request}

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        """Change the password and log it; this browser stays signed in, and known for the next sign-in."""
        response: HttpResponse = super().form_valid(form)
        record_security_event(SecurityEventKind.PASSWORD_CHANGED, user=form.user)
        remember_browser(self.request, form.user, response)
        return response


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
        from pipeline_backend.admin.reports import reports_page  # noqa: PLC0415

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
        response: HttpResponse = import_string("pipeline_backend.admin.search.search_page")(request)
        return response
