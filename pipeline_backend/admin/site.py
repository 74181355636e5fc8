"""The admin site: who gets in, its menu, and the page at which a password is chosen."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.utils import quote
from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.views import PasswordResetConfirmView
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import path, reverse, reverse_lazy
from django.utils import timezone
from unfold.forms import AuthenticationForm
from unfold.sites import UnfoldAdminSite
from unfold.widgets import BASE_INPUT_CLASSES

from organizations.isolation import bypass_rls
from organizations.permissions import ALL_ROLES, organizations_with_role, read_roles, roles_by_organization
from pipeline_backend.api.rate_limits import client_address, hit
from pipeline_backend.db.retry import is_serialization_failure

ATTEMPTS_PER_ADDRESS = 30
ATTEMPTS_PER_ACCOUNT = 10

# Group, then (title, icon, app, model). An entry shows for who may see its list.
MENU = [
    (
        "Pipeline",
        [
            ("Appointments", "event", "appointments", "appointment"),
            ("Leads", "person", "leads", "lead"),
            ("Opt-ins", "input", "optins", "optin"),
            ("Notes", "edit_note", "appointments", "note"),
            ("Call analyses", "insights", "appointments", "callanalysis"),
        ],
    ),
    (
        "Setup",
        [
            ("Statuses", "label", "statuses", "status"),
            ("Event types", "category", "appointments", "eventtype"),
            ("Custom fields", "tune", "leads", "customfield"),
            ("Sources", "conversion_path", "leads", "source"),
        ],
    ),
    (
        "Connections",
        [
            ("API keys", "key", "organizations", "apikey"),
            ("Webhook endpoints", "webhook", "webhooks", "endpoint"),
            ("Events", "bolt", "webhooks", "event"),
            ("Deliveries", "local_shipping", "webhooks", "delivery"),
        ],
    ),
    (
        "Team",
        [
            ("Members", "group", "organizations", "membership"),
            ("Notifications", "notifications", "notifications", "notification"),
            ("Organization", "apartment", "organizations", "organization"),
            ("All people", "badge", "organizations", "user"),
        ],
    ),
]


class SignInForm(AuthenticationForm):
    """The sign-in form; guessing passwords is slow, per client address and per account."""

    def clean(self) -> dict[str, Any]:
        """Count the attempt before looking at it."""
        account = self.cleaned_data.get("username", "").strip().lower()
        of_address = hit(
            self.request, group="sign-in-address", whom=client_address(self.request), limit=ATTEMPTS_PER_ADDRESS
        )
        of_account = hit(self.request, group="sign-in-account", whom=account, limit=ATTEMPTS_PER_ACCOUNT)
        if of_address.is_over or of_account.is_over:
            raise ValidationError("Too many attempts. Wait a minute, then try again.")
        return super().clean()

    def confirm_login_allowed(self, user: Any) -> None:
        """Staff, who have something to work on."""
        super().confirm_login_allowed(user)
        if not user.is_superuser and not read_roles(user):
            raise ValidationError("You are a member of no active organization.")


class NewPasswordForm(SetPasswordForm):
    """A new password, twice."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.widget.attrs["class"] = " ".join(BASE_INPUT_CLASSES)


class LabelledAutocomplete(AutocompleteJsonView):
    """Autocompletion whose entries can say more than a row's name."""

    def process_request(self, request: HttpRequest) -> Any:
        """What is asked about; only fields of the model itself choose rows (Django fails at those that point at it)."""
        term, model_admin, source_field, to_field_name = super().process_request(request)
        if source_field.auto_created:
            raise PermissionDenied
        return term, model_admin, source_field, to_field_name

    def serialize_result(self, obj: Any, to_field_name: str) -> dict[str, str]:
        """The page's own label for choices, if it has one."""
        label = getattr(self.model_admin, "choice_label", str)
        return super().serialize_result(obj, to_field_name) | {"text": label(obj)}


def retry_on_deadlock(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """A page whose change PostgreSQL gave up (two people, the same rows, in another order) is asked for again: nothing of it was kept."""

    @wraps(view)
    def patient(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except OperationalError as error:
            if not is_serialization_failure(error):
                raise
        return view(request, *args, **kwargs)

    return patient


class PipelineAdminSite(UnfoldAdminSite):
    """Our admin."""

    login_form = SignInForm

    def has_permission(self, request: HttpRequest) -> bool:
        """Staff with an active membership of an active organization, asked anew on each request; and operators."""
        return super().has_permission(request) and (request.user.is_superuser or bool(roles_by_organization(request)))

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Every page but those of signing in."""
        return super().admin_view(retry_on_deadlock(view), cacheable)

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Who asks is found out here, so everybody can be found."""
        with bypass_rls():
            return super().login(request, extra_context)

    def extra_urls(self) -> list[Any]:
        """Where a password is chosen; open to who has the link."""
        return [path("set-password/<uidb64>/<token>/", self.set_password, name="set_password")]

    def set_password(self, request: HttpRequest, uidb64: str, token: str) -> HttpResponseBase:
        """Django's own page for a link that is good once."""
        context = self.each_context(request)
        view = PasswordResetConfirmView.as_view(
            template_name="admin/set_password.html",
            form_class=NewPasswordForm,
            success_url=reverse_lazy("admin:login"),
            extra_context=context,
        )
        with bypass_rls():  # the link says who it is
            return view(request, uidb64=uidb64, token=token)

    def autocomplete_view(self, request: HttpRequest) -> HttpResponseBase:
        """Choices as one types: the rows that the person may see."""
        return LabelledAutocomplete.as_view(admin_site=self)(request)

    def search(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Unfold's search over pages: not offered, as the menu is short."""
        raise Http404


def menu(request: HttpRequest) -> list[dict[str, Any]]:
    """The menu of what this person may see."""
    home = {"title": "Overview", "icon": "home", "link": reverse("admin:index")}
    groups = [
        {"title": title, "separator": True, "items": [item for entry in entries for item in entry_of(request, *entry)]}
        for title, entries in MENU
    ]
    return [
        {"items": [home]},
        *(group for group in groups if group["items"]),
        {"title": "You", "separator": True, "items": own_entries(request)},
    ]


def own_entries(request: HttpRequest) -> list[dict[str, Any]]:
    """The person's own pages."""
    account = {
        "title": "My account",
        "icon": "account_circle",
        "link": reverse("admin:organizations_user_change", args=[quote(str(request.user.pk))]),
    }
    mails = {
        "title": "My mails",
        "icon": "mail",
        "link": f"{reverse('admin:organizations_membership_changelist')}?user__id__exact={request.user.pk}",
        "active": "user__id__exact" in request.GET,
    }
    return [account, mails] if roles_by_organization(request) else [account]


def entry_of(request: HttpRequest, title: str, icon: str, app: str, model: str) -> list[dict[str, Any]]:
    """The model's entry, if the person may see its list."""
    page = admin.site.get_model_admin(apps.get_model(app, model))
    if not page.has_module_permission(request):
        return []
    return [{"title": title, "icon": icon, "link": reverse(f"admin:{app}_{model}_changelist")}]


def subheader(request: HttpRequest) -> str:
    """Whose data, and in which time zone its times are."""
    if not request.user.is_authenticated:
        return ""
    names = [str(organization) for organization in organizations_with_role(request, ALL_ROLES)[:2]]
    whose = names[0] if len(names) == 1 else "Several organizations"
    return f"{whose} · {timezone.get_current_timezone_name()}"
