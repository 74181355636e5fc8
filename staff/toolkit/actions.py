"""Actions of the admin: a GET shows a confirmation page, a POST runs the action, and a service's error is shown there.

Unfold's own detail actions are links that run on GET, which a prefetching browser or a foreign page could trigger.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeAlias

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from unfold.decorators import action
from unfold.enums import ActionVariant

from foundation.api.exceptions import DomainError, ValidationFailed

AnyPage: TypeAlias = Any  # a TenantAdmin, whose module imports this one
AnyRow: TypeAlias = Any  # an instance of the page's model; each page names its own
# A method of a ModelAdmin: (self, request, row, form) -> a response, or what the page that follows says was done.
Handler: TypeAlias = Callable[[Any, HttpRequest, Any, Any], HttpResponseBase | str | None]
MAX_SELECTED = 200


class ConfirmationForm(forms.Form):
    """Base of the forms on confirmation pages; without fields of its own it only asks for a click."""

    def __init__(self, *args: Any, subject: AnyRow = None, request: HttpRequest | None = None, **kwargs: Any) -> None:
        self.subject, self.request = subject, request
        super().__init__(*args, **kwargs)


@dataclass(frozen=True, kw_only=True)
class ObjectAction:
    """A button on a row's page: what it says, which rows have it, and which permission it needs.

    `question` is the text of the confirmation page, or a function of the row that returns it. With `once`, a form works
    only while `once(row)` is what it was when the form was shown; if the row has become what the form asks for, which
    `is_same(row, form)` says, it was sent twice, and otherwise somebody else has changed the row. `next_url` returns
    the address of the page that follows; by default the row's.
    """

    handler: Handler
    label: str
    icon: str
    question: str | Callable[[Any], str]
    form: type[ConfirmationForm] = ConfirmationForm
    danger: bool = False
    when: Callable[[Any], bool] | None = None
    permission: str = "change"
    once: Callable[[Any], object] | None = None
    is_same: Callable[[Any, Any], bool] = lambda row, form: True
    next_url: Callable[[HttpRequest, Any], str] = lambda request, row: row_url(row)

    def is_possible(self, row: Model) -> bool:
        """Return whether the row has the button."""
        return self.when is None or self.when(row)

    def is_allowed(self, page: ModelAdmin, request: HttpRequest, row: Model) -> bool:
        """Return whether the user has the permission on the row."""
        return bool(getattr(page, f"has_{self.permission}_permission")(request, row))

    def question_about(self, row: Model) -> str:
        """Return the question of the row's form."""
        return self.question if isinstance(self.question, str) else self.question(row)

    def refusal(self, request: HttpRequest, row: Any, form: ConfirmationForm) -> str:
        """Return why nothing can be done, or an empty text. Locks the row of a button with `once` if the form was sent.

        The row that is locked is read again, because it can have changed in the meantime.
        """
        impossible = "" if self.is_possible(row) else "this is not possible at the moment."
        if self.once is None or "state" not in request.POST:
            return impossible
        locked = type(row).objects.of(row.organization).select_for_update().get(pk=row.pk)
        if str(self.once(locked)) == request.POST["state"]:
            return impossible
        if self.is_same(locked, form):
            return "this was done already. Nothing was done again."
        return "somebody has changed this since you opened the page. Nothing was done: look at it again before you do."

    def respond(self, page: ModelAdmin, request: HttpRequest, row: Model) -> HttpResponseBase:
        """Ask for confirmation, or run the action if the form was sent and is valid. Raises PermissionDenied."""
        if not self.is_allowed(page, request, row):
            raise PermissionDenied
        form = self.form(request.POST if request.method == "POST" else None, subject=row, request=request)
        is_valid = form.is_valid()
        try:
            with transaction.atomic():
                # The page with the button may be old: the row can have changed since.
                if refusal := self.refusal(request, row, form):
                    messages.warning(request, f"{self.label}: {refusal}")
                    return redirect(self.next_url(request, row))
                if is_valid:
                    done = self.handler(page, request, row, form)
                    page.log_change(request, row, f"{self.label}.")
                    return done if isinstance(done, HttpResponseBase) else self.report(request, row, done)
        except DomainError as error:
            add_form_errors(form, error)
        context = {"form": form, "question": self.question_about(row), "danger": self.danger}
        context |= page_context(page, request, row, self.label) | {"back_url": self.next_url(request, row)}
        if self.once:
            context["state"] = request.POST.get("state", str(self.once(row)))
        return TemplateResponse(request, "admin/confirm_action.html", context)

    def report(self, request: HttpRequest, row: Model, text: str | None) -> HttpResponse:
        """Lead to the page that follows with what was done; on another page than the row's with a link to the row."""
        url, text = self.next_url(request, row), text or f"{self.label}: done."
        if url != row_url(row):
            text = format_html('<a href="{}" class="underline">{}</a>: {}', row_url(row), row, text)
        messages.success(request, text)
        return redirect(url)


def object_action(label: str, **options: Any) -> Callable[[Handler], Any]:
    """Turn the method `(self, request, row, form)` into a button on the row's page, for `actions_detail`.

    The options are those of `ObjectAction`. The method runs in a transaction and only after a confirmed POST, for users
    with the permission on the row, while `when(row)` is true. It may return a response, such as a page with a secret;
    otherwise the page that follows says what was done: the text that it returns.
    """

    def decorate(handler: Handler) -> Any:
        button = ObjectAction(handler=handler, label=label, **options)

        @wraps(handler)
        def view(page: Any, request: HttpRequest, object_id: str) -> HttpResponseBase:
            row = page.get_object(request, unquote(object_id))
            if row is None:
                return page._get_obj_does_not_exist_redirect(request, page.opts, object_id)
            return button.respond(page, request, row)

        variant = ActionVariant.DANGER if button.danger else ActionVariant.DEFAULT
        method = action(description=label, icon=button.icon, variant=variant)(view)
        method.button = button
        return method

    return decorate


def add_form_errors(form: forms.BaseForm, error: DomainError) -> None:
    """Show a service's error in the form: at the field that it names if the form has it, else on top."""
    if not isinstance(error, ValidationFailed):
        form.add_error(None, str(error))
        return
    for path, sentences in error.errors.items():
        if path not in form.fields:
            form.add_error(None, sentences)
            continue
        # API errors begin with the field's name, which is the label here: "email belongs to …" → "Belongs to …".
        predicates = [sentence.removeprefix(f"{path} ") for sentence in sentences]
        form.add_error(path, [predicate[:1].upper() + predicate[1:] for predicate in predicates])


def row_url(row: Model) -> str:
    """Return the URL of a row's page."""
    # quote(): the ids of users contain an underscore, which the admin escapes in URLs.
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[quote(row.pk)])


def page_context(model_admin: ModelAdmin, request: HttpRequest, row: Model, title: str) -> dict[str, object]:
    """Return the template context of a page about a row."""
    site = model_admin.admin_site.each_context(request)
    return {**site, "title": title, "original": row, "opts": model_admin.opts, "row_url": row_url(row)}


def change_selected(
    page: AnyPage,
    request: HttpRequest,
    rows: QuerySet,
    change: Callable[[Any], object],
    *,
    action: str,
    title: str,
    question: str,
    form: forms.Form | None = None,
) -> HttpResponse | None:
    """Call `change` with each selected row that the user may change, and report the numbers and each service's error.

    Before it, return the page that asks for confirmation, with the form's field `value` if there is a form.
    """
    if "confirmed" not in request.POST or (form and not form.is_valid()):
        context = {"title": title, "opts": page.opts, "question": question, "action": action, "form": form}
        context |= {**page.admin_site.each_context(request), "rows": rows[:MAX_SELECTED]}
        return TemplateResponse(request, "admin/confirm_selected.html", context)
    selected = rows.count()
    if selected > MAX_SELECTED:
        messages.error(request, f"Select at most {MAX_SELECTED} at a time.")
        return None
    writable = list(page.writable_rows(request, rows))
    if selected > len(writable):
        messages.warning(request, f"Skipped {selected - len(writable)}: you may not change them.")
    count = 0
    for row in writable:
        try:
            change(row)
        except DomainError as error:
            messages.error(request, f"{row}: {error}")
        else:
            page.log_change(request, row, "Changed from the list.")
            count += 1
    if count:
        messages.success(request, f"{count} changed.")
    return None
