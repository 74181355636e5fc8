"""Pages of accounts: how they are rendered, how a link's page is protected, and how a secret is shown."""

from collections.abc import Callable
from functools import wraps

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.utils.cache import add_never_cache_headers

from organizations.isolation import bypass_rls


def account_page(
    request: HttpRequest,
    template: str,
    title: str,
    *,
    status: int = 200,
    headers: dict[str, str] | None = None,
    **context: object,
) -> TemplateResponse:
    context = {**admin.site.each_context(request), "title": title, **context}
    return TemplateResponse(request, f"accounts/{template}.html", context, status=status, headers=headers)


def link_page(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Run a view that finds its rows by a link's token. Its address is a secret, so no cache and no site may get it."""

    @wraps(view)
    def wrapper(request: HttpRequest, **kwargs: object) -> HttpResponseBase:
        # The link identifies person and organization, and no scope is set for a visitor.
        with bypass_rls():
            response = view(request, **kwargs)
            if hasattr(response, "render"):
                response.render()
        add_never_cache_headers(response)
        return response

    return wrapper


def secret_page(
    request: HttpRequest, row: Model, row_url: str, *, title: str, explanation: str, secret: str
) -> HttpResponse:
    # The secret is in this response only: no cache may store it, and no link may pass the page's address on.
    headers = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "Content-Encoding": "identity"}
    return account_page(
        request,
        "secret",
        title,
        headers=headers,
        original=row,
        opts=row._meta,
        row_url=row_url,
        explanation=explanation,
        secret=secret,
    )
