"""The page that shows a secret: an API key, a signing secret, recovery codes."""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse


def secret_page(
    request: HttpRequest, row: Model, row_url: str, *, title: str, explanation: str, secret: str
) -> HttpResponse:
    """Return a page that shows a secret once, and leads to the page of its row."""
    site = admin.site.each_context(request)
    about = {"title": title, "original": row, "opts": row._meta, "row_url": row_url}
    # The secret is in this response only: no cache may store it, and no link may pass the page's address on.
    headers = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "Content-Encoding": "identity"}
    context = {**site, **about, "explanation": explanation, "secret": secret}
    return TemplateResponse(request, "accounts/secret.html", context, headers=headers)
