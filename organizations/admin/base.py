"""Base of every admin page: only services write, and what they refuse is shown in the form (house rules 4 and 8)."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin, TabularInline
from unfold.widgets import UnfoldAdminURLInputWidget

from organizations.admin import actions
from pipeline_backend.api.exceptions import Conflict, DomainError
from pipeline_backend.db.timestamps import MillisecondDateTimeField

YEARS = range(1970, 2101)


class ConcurrentSave(Conflict):
    """Two people saved the same thing at the same moment."""

    message = "Somebody else has just saved the same; look at the list before you try again"


class ServiceForm(forms.ModelForm):
    """A form that can show what the service refused after the form itself had found nothing."""

    request: ClassVar[HttpRequest]
    refusal: ClassVar[DomainError | None] = None

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]
        if self.refusal:
            actions.add_form_errors(self, self.refusal)


class ServiceAdmin(ModelAdmin):
    """An admin page whose writes go through services: `save_model` and `delete_model` are each app's own."""

    form = ServiceForm
    compressed_fields = False
    list_filter_submit = True
    list_per_page = 50
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    warn_unsaved_form = True

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Call the service that writes; every page has its own."""
        raise NotImplementedError(f"{type(self).__name__} must name the service that saves")

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Call the service that deletes; a page whose rows can be deleted has its own."""
        raise NotImplementedError(f"{type(self).__name__} must name the service that deletes")

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Nothing: inlines only show, and the service has written what belongs to the row."""

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        """The names of the changed fields, never their values; inlines only show."""
        return super().construct_change_message(request, form, None, add)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """The form's class, told of the request."""
        made = super().get_form(request, obj, change=change, **kwargs)
        return type(made.__name__, (made,), {"request": request, "refusal": vars(request).get("refusal")})

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        """The form; a refused save (rolled back by Django) is the form again, with the reason."""
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except DomainError as problem:
            vars(request)["refusal"] = problem
        except IntegrityError:
            vars(request)["refusal"] = ConcurrentSave()
        return super().changeform_view(request, object_id, form_url, extra_context)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """The page that asks; a refused deletion goes back to the row, with the reason."""
        try:
            return super().delete_view(request, object_id, extra_context)
        except DomainError as problem:
            messages.error(request, str(problem))
        return actions.redirect_to(self.get_object(request, unquote(object_id)))

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """The row alone: whether it may go is for the service to say."""
        return [str(row) for row in objs], {str(self.opts.verbose_name_plural): len(objs)}, set(), []

    def get_actions(self, request: HttpRequest) -> Any:
        """Our own only: Django's bulk deletion would pass the services by."""
        found = super().get_actions(request)
        found.pop("delete_selected", None)
        return found

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> Any:
        """The buttons that this row has, for who may use them."""
        row = self.get_object(request, unquote(object_id))
        if row is None:
            return []
        return [
            button
            for button in super().get_actions_detail(request, object_id)
            if button.method.is_offered(self, request, row)
        ]

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """A field without links to other forms; moments in the person's time zone, which the help text names."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        for link in ("can_add_related", "can_change_related", "can_delete_related", "can_view_related"):
            if field and hasattr(field.widget, link):
                setattr(field.widget, link, False)
        if field and isinstance(db_field, MillisecondDateTimeField):
            field.help_text = f"{field.help_text} In the time zone {timezone.get_current_timezone_name()}.".strip()
            field.validators = [*field.validators, validate_year]
        return field


class ReadOnlyInline(TabularInline):
    """Rows that belong to the page's row and are only shown; who sees the page sees them."""

    extra = 0
    per_page: int | None = 20
    can_delete = False
    hide_title = True

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """All of them."""
        return self.fields

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Yes: the page itself has been permitted."""
        return True

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """No: services write."""
        return False

    has_change_permission = has_delete_permission = has_add_permission

    @admin.display(description="")
    def link(self, row: Any) -> SafeString:
        """To the row's own page."""
        return format_html('<a class="text-link" href="{}">Open</a>', actions.row_url(row))


class WebAddressField(forms.URLField):
    """An http(s) address as the interface takes it; None when empty."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            max_length=2048,
            assume_scheme="https",
            required=False,
            empty_value=None,
            widget=UnfoldAdminURLInputWidget,
            **kwargs,
        )
        self.validators = [URLValidator(schemes=["http", "https"])]


def validate_year(moment: Any) -> None:
    """The interface's bounds on moments (decision 4)."""
    if moment.year not in YEARS:
        raise ValidationError(f"Enter a year from {YEARS[0]} to {YEARS[-1]}.")
