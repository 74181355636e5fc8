"""What the pages of accounts have in common, and the page that shows a secret."""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse


def account_page(
    request: HttpRequest,
    template: str,
    title: str,
    *,
    status: int = 200,
    headers: dict[str, str] | None = None,
    **context: object,
) -> TemplateResponse:
    """Return the page, with what all pages of the admin show in its context."""
    context = {**admin.site.each_context(request), "title": title, **context}
    return TemplateResponse(request, template, context, status=status, headers=headers)


def secret_page(
    request: HttpRequest, row: Model, row_url: str, *, title: str, explanation: str, secret: str
) -> HttpResponse:
    """Return a page that shows a secret (an API key, recovery codes) once, and leads to the page of its row."""
    # The secret is in this response only: no cache may store it, and no link may pass the page's address on.
    headers = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "Content-Encoding": "identity"}
    return account_page(
        request,
        "accounts/secret.html",
        title,
        headers=headers,
        original=row,
        opts=row._meta,
        row_url=row_url,
        explanation=explanation,
        secret=secret,
    )
