"""Buttons that do something: a page asks, a POST does it, a refusal is shown on the page.

Unfold's own detail actions are links that act on GET; these never do.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.decorators import action
from unfold.enums import ActionVariant

from pipeline_backend.api.exceptions import DomainError, ValidationFailed

Handler = Callable[[Any, HttpRequest, Any, Any], HttpResponse | None]
MAX_SELECTED = 200


class ConfirmationForm(forms.Form):
    """Nothing to fill in: base of the forms on the pages that ask."""

    def __init__(self, *args: Any, subject: Any = None, **kwargs: Any) -> None:
        self.subject = subject
        super().__init__(*args, **kwargs)


def always_available(subject: Any) -> bool:
    """A button that every row has."""
    return True


@dataclass(frozen=True, kw_only=True)
class ObjectAction:
    """What a button says, and who may press it on which rows."""

    label: str
    icon: str
    question: str
    form: type[ConfirmationForm] = ConfirmationForm
    danger: bool = False
    when: Callable[[Any], bool] = always_available
    permission: str = "change"

    def is_allowed(self, model_admin: Any, request: HttpRequest, row: Any) -> bool:
        """Whether the person has the permission on the row."""
        return bool(getattr(model_admin, f"has_{self.permission}_permission")(request, row))

    def is_offered(self, model_admin: Any, request: HttpRequest, row: Any) -> bool:
        """Whether the row's page shows it."""
        return self.is_allowed(model_admin, request, row) and self.when(row)

    def answer(self, deed: Handler, model_admin: Any, request: HttpRequest, row: Any) -> HttpResponse:
        """The page that asks; after a confirmed POST, what came of it."""
        if not self.is_allowed(model_admin, request, row):
            raise PermissionDenied
        if not self.when(row):
            messages.warning(request, f"{self.label} is not possible now.")
            return redirect_to(row)
        form = self.form(request.POST if request.method == "POST" else None, subject=row)
        if request.method == "POST" and form.is_valid():
            done = self.attempt(deed, model_admin, request, row, form)
            if done:
                return done
        return confirm_page(
            model_admin, request, row, form, title=self.label, question=self.question, danger=self.danger
        )

    def attempt(
        self, deed: Handler, model_admin: Any, request: HttpRequest, row: Any, form: ConfirmationForm
    ) -> HttpResponse | None:
        """Do it, and log it; None if the service refuses, with the reason on the form."""
        try:
            with transaction.atomic():
                page = deed(model_admin, request, row, form)
                model_admin.log_change(request, row, f"{self.label}.")
        except DomainError as problem:
            add_form_errors(form, problem)
            return None
        if page is None:
            messages.success(request, f"{self.label}: done.")
        return page or redirect_to(row)


def object_action(label: str, **facts: Any) -> Callable[[Handler], Any]:
    """Make `method(self, request, row, form)` a button of the row's page; `facts` are `Button`'s.

    It runs in a transaction and only after a confirmed POST, for who has the permission on the row, while `when(row)`
    holds. What it returns is the answer (a page with a secret); with None the row's page is shown again.
    """
    button = ObjectAction(label=label, **facts)

    def decorate(deed: Handler) -> Any:
        @wraps(deed)
        def view(model_admin: Any, request: HttpRequest, object_id: str) -> HttpResponse:
            row = model_admin.get_object(request, unquote(object_id))
            if row is None:
                return model_admin._get_obj_does_not_exist_redirect(request, model_admin.opts, object_id)
            return button.answer(deed, model_admin, request, row)

        made = action(
            description=label,
            icon=button.icon,
            variant=ActionVariant.DANGER if button.danger else ActionVariant.DEFAULT,
        )(view)
        made.is_offered = button.is_offered
        return made

    return decorate


def add_form_errors(form: forms.BaseForm, problem: DomainError) -> None:
    """A service's refusal as the form's errors: at the field if the form has it, else on top."""
    if not isinstance(problem, ValidationFailed):
        form.add_error(None, str(problem))
        return
    for path, sentences in problem.errors.items():
        field = path if path in form.fields else None
        form.add_error(field, [without_field_name(path, sentence) if field else sentence for sentence in sentences])


def without_field_name(path: str, sentence: str) -> str:
    """The sentence without the field's name, beside which it stands."""
    predicate = sentence.removeprefix(f"{path} ")
    return predicate[:1].upper() + predicate[1:]


def redirect_to(row: Any) -> HttpResponseRedirect:
    """To the row's page."""
    return HttpResponseRedirect(row_url(row))


def row_url(row: Any) -> str:
    """The address of a row's page. (Users' ids have an underscore, which the admin escapes.)"""
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[quote(row.pk)])


def page_context(model_admin: Any, request: HttpRequest, row: Any, title: str) -> dict[str, Any]:
    """What every page about a row needs."""
    site = model_admin.admin_site.each_context(request)
    return {**site, "title": title, "original": row, "opts": model_admin.opts, "row_url": row_url(row)}


def confirm_page(
    model_admin: Any, request: HttpRequest, row: Any, form: forms.Form, *, title: str, question: str, danger: bool
) -> HttpResponse:
    """The page that asks."""
    context = page_context(model_admin, request, row, title) | {"form": form, "question": question, "danger": danger}
    return TemplateResponse(request, "admin/confirm_action.html", context)


def secret_page(
    model_admin: Any, request: HttpRequest, row: Any, *, title: str, explanation: str, secret: str
) -> HttpResponse:
    """A page that shows a secret, this once: it is stored nowhere, kept by no cache, and gone on a reload."""
    context = page_context(model_admin, request, row, title) | {"explanation": explanation, "secret": secret}
    return TemplateResponse(
        request, "admin/secret.html", context, headers={"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
    )


def apply_to_selected(model_admin: Any, request: HttpRequest, rows: Any, deed: Callable[[Any], Any]) -> None:
    """Do it to each selected row that the person may change; say how many it was done to, and why not to others."""
    if rows.count() > MAX_SELECTED:
        messages.error(request, f"Select at most {MAX_SELECTED} at a time.")
        return
    done = 0
    for row in rows:
        if not model_admin.has_change_permission(request, row):
            continue
        try:
            deed(row)
        except DomainError as problem:
            messages.error(request, f"{row}: {problem}")
        else:
            model_admin.log_change(request, row, "Done from the list.")
            done += 1
    if done:
        messages.success(request, f"Done for {done}.")


def confirm_selected(
    model_admin: Any, request: HttpRequest, rows: Any, *, name: str, title: str, question: str
) -> HttpResponse | None:
    """The page that asks about a selection; None once it is confirmed."""
    if "confirmed" in request.POST:
        return None
    context = {
        **model_admin.admin_site.each_context(request),
        "title": title,
        "opts": model_admin.opts,
        "question": question,
        "action": name,
    }
    return TemplateResponse(
        request, "admin/confirm_selected.html", context | {"rows": rows[:MAX_SELECTED], "danger": True}
    )
