"""Buttons of the admin: a GET shows a confirmation page, a POST runs the action, and a service's error is shown there.

Unfold's own detail actions are links that run on GET, which a prefetching browser or a foreign page could trigger.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeAlias

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.text import capfirst
from unfold.decorators import action
from unfold.enums import ActionVariant
from uuid_utils.compat import uuid7

from foundation.api.exceptions import DomainError, ValidationFailed
from organizations.actors import Actor, staff_actor
from organizations.permissions import current_user

AnyPage: TypeAlias = Any  # a TenantAdmin, whose module imports this one
AnyRow: TypeAlias = Any  # an instance of the page's model; each page names its own
# Called with page, request, row and form. Returns the success message; None means "<label>: done."
Handler: TypeAlias = Callable[[Any, HttpRequest, Any, Any], object]
DONE_BEFORE = "this was done already. Nothing was done again."
CHANGED_SINCE = "someone has changed this since you opened the page. Nothing was done: check it before you try again."
TYPED_FIELDS = (forms.CharField, forms.IntegerField, forms.SplitDateTimeField)


class ConfirmationForm(forms.Form):
    """Base of the forms on confirmation pages; without fields of its own it only asks for a click."""

    fields: dict[str, Any]  # of any kind: `forms.Field` has no `queryset`
    question = ""  # replaces that of the button
    refusal = ""  # why nothing can be done

    def __init__(self, *args: Any, subject: AnyRow, request: HttpRequest, **kwargs: Any) -> None:
        self.subject, self.request = subject, request
        super().__init__(*args, **kwargs)

    def has_typed(self) -> bool:
        """Return whether a text or a time was typed, which a person would have to enter again."""
        typed = [field for field in self.visible_fields() if field.name in self.changed_data]
        texts = [field.data for field in typed if isinstance(field.field, TYPED_FIELDS)]
        # Of a time, the first of them is the day.
        return any(text[0] if isinstance(text, list) else text for text in texts)


class NotDone(Exception):
    """Raised by a handler that leaves everything as it is: a message says why, on the page that follows."""


@dataclass(frozen=True, kw_only=True)
class ObjectAction:
    """A button on a row's page.

    `question` is the text of the confirmation page, or a function of the row that returns it. With `state`, a form
    works only while `state(row)` is what it was when the form was shown, for which the row is locked unless `locks` is
    False. If not, `is_done(row, form)` says whether all that the form says is stored (it was sent twice), or someone
    else has changed the row. In the latter case the form is shown again if something was typed. `next_url` is the page
    that follows, by default the row's. `answer` makes another response, from the request, the row and the handler's
    result. Without `is_atomic` the handler has transactions of its own.
    """

    handler: Handler
    name: str  # in its address; by default the handler's
    label: str
    icon: str
    question: str | Callable[[Any], str]
    form: Callable[..., ConfirmationForm] = ConfirmationForm
    danger: bool = False
    is_possible: Callable[[Any], object] = lambda row: True
    permission: str = "change"
    state: Callable[[Any], object] | None = None
    is_done: Callable[[Any, Any], bool] = lambda row, form: True
    locks: bool = True
    next_url: Callable[[HttpRequest, Any], str] = lambda request, row: row_url(row)
    answer: Callable[[HttpRequest, Any, Any], HttpResponseBase] | None = None
    is_atomic: bool = True

    def is_allowed(self, page: ModelAdmin, request: HttpRequest, row: Model) -> bool:
        return bool(getattr(page, f"has_{self.permission}_permission")(request, row))

    def is_offered(self, page: ModelAdmin, request: HttpRequest, row: Model) -> bool:
        return self.is_allowed(page, request, row) and bool(self.is_possible(row))

    def url(self, row: Model) -> str:
        return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_{self.name}", args=[quote(row.pk)])

    def question_about(self, row: Model) -> str:
        return self.question if isinstance(self.question, str) else self.question(row)

    def respond(self, page: ModelAdmin, request: HttpRequest, row: Model) -> HttpResponseBase:
        """Run the action if its form was sent and is valid; else ask for confirmation. Raises PermissionDenied."""
        if not self.is_allowed(page, request, row):
            raise PermissionDenied
        form = self.form(request.POST if request.method == "POST" else None, subject=row, request=request)
        is_valid, refusal, result = form.is_valid(), "", None
        try:
            with transaction.atomic() if self.is_atomic else nullcontext():
                refusal = form.refusal or self.refusal(request, row, form)
                if is_valid and not refusal:
                    result = self.handler(page, request, row, form)
                    page.log_change(request, row, f"{self.label}.")
        except NotDone as error:
            refusal = str(error)
        except DomainError as error:
            add_form_errors(form, error)
            renew_id(form)
        url = self.next_url(request, row)
        is_shown_again = refusal and refusal != DONE_BEFORE and form.has_typed()
        if is_shown_again:
            form.add_error(None, f"{refusal[0].upper()}{refusal[1:]}")
        elif refusal:
            messages.warning(request, named(row, url, f"{self.label}: {refusal}"))
            return redirect(url)
        if not form.is_valid():
            question = form.question or self.question_about(row)
            context = {"form": form, "question": question, "danger": self.danger, "back_url": url}
            if self.state:
                seen = None if is_shown_again else request.POST.get("state")
                context["state"] = seen or str(self.state(row))
            context |= page_context(page, request, row, self.label)
            return TemplateResponse(request, "admin/confirm_action.html", context)
        if self.answer:
            return self.answer(request, row, result)
        messages.success(request, named(row, url, str(result or f"{self.label}: done.")))
        return redirect(url)

    def refusal(self, request: HttpRequest, row: Any, form: ConfirmationForm) -> str:
        """Return why nothing can be done, or "". Locks the row of a button that `locks` if its form was sent.

        The form may be stale, so the row is read again. A link can have a state, too, such as that of a calendar.
        """
        impossible = "" if self.is_possible(row) else "this is not possible at the moment."
        seen = request.POST.get("state", request.GET.get("state"))
        if self.state is None or seen is None:
            return impossible
        present = row
        if request.method == "POST":
            rows = type(row).objects
            rows = rows.of(row.organization) if hasattr(rows, "of") else rows
            present = (rows.select_for_update() if self.locks else rows).get(pk=row.pk)
        if str(self.state(present)) == seen:
            return impossible
        if self.is_done(present, form):
            return DONE_BEFORE
        return CHANGED_SINCE


def object_action(label: str, **options: Any) -> Callable[[Handler], Any]:
    """Turn the function `(page, request, row, form)` into a button on the row's page.

    The options are those of `ObjectAction`. A record lists it among its buttons; other pages have it as a method, whose
    name is in `actions_detail`.
    """

    def decorate(handler: Handler) -> Any:
        button = ObjectAction(**{"name": handler.__name__, **options}, handler=handler, label=label)

        def view(page: Any, request: HttpRequest, object_id: str) -> HttpResponseBase:
            row = page.get_object(request, unquote(object_id))
            if row is None and request.method == "POST" and (kept := page.merged_into(request, object_id)):
                messages.warning(request, "The lead you opened was merged into this one.")
                # The browser sends the form again, so what was typed is stored, or shown again.
                name = f"admin:{page.opts.app_label}_{page.opts.model_name}_{button.name}"
                return redirect(name, kept.pk, preserve_request=True)
            if row is None:
                return page._get_obj_does_not_exist_redirect(request, page.opts, object_id)
            return button.respond(page, request, row)

        variant = ActionVariant.DANGER if button.danger else ActionVariant.DEFAULT
        view.__name__ = button.name
        method = action(description=label, icon=button.icon, variant=variant)(view)
        method.button = button
        return method

    return decorate


def actor_of(request: HttpRequest) -> Actor:
    return staff_actor(current_user(request))


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
        form.add_error(path, [capfirst(predicate) for predicate in predicates])


def renew_id(form: forms.BaseForm) -> None:
    """Give the form another id for the row that it adds, because nothing was stored with the sent one."""
    if "new_id" in form.fields and form.is_bound:
        data: Any = form.data.copy()  # type: ignore[attr-defined]  # a QueryDict
        data["new_id"] = str(uuid7())
        form.data = data


def named(row: Model, url: str, text: str) -> str:
    """Return the text for the page at the address: with a link to the row unless the page is the row's own."""
    own = row_url(row)
    return text if url == own else format_html('<a href="{}" class="underline">{}</a>: {}', own, row, text)


def row_url(row: Model) -> str:
    # quote(): the ids of users contain an underscore, which the admin escapes in URLs.
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[quote(row.pk)])


def page_context(page: ModelAdmin, request: HttpRequest, row: Model, title: str) -> dict[str, object]:
    site = page.admin_site.each_context(request)
    return {**site, "title": title, "original": row, "opts": page.opts, "row_url": row_url(row)}
