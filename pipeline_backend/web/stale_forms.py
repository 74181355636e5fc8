"""Responses to forms without a valid token.

The person has signed in or out since, another site sent the form, or it is too large to be read.
"""

from urllib.parse import urlsplit

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from accounts.sign_in import SignInForm, SignInView
from organizations.isolation import bypass_rls
from organizations.permissions import current_user
from pipeline_backend.web.error_handlers import handler403
from pipeline_backend.web.middleware import API_PATH
from pipeline_backend.web.page_requests import refusal
from pipeline_backend.web.request_bodies import body_limit

MEGABYTE = 1024 * 1024


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    if API_PATH.match(request.path_info):
        return handler403(request)
    if request.path_info == reverse("admin:login"):
        return sign_in_again(request)
    limit, announced = body_limit(request.META, request.path_info), request.META.get("CONTENT_LENGTH", "")
    if announced.isdecimal() and int(announced) > limit:  # so it wasn't read, nor its token
        most = f"{limit // MEGABYTE} MB" if limit >= MEGABYTE else f"{limit // 1024} kB"
        text = f"It has more than {most}, so nothing was saved. Split a file, or shorten the text."
        return refusal(413, "This is too large", text)
    text = (
        "You have signed in or out since you opened it, so nothing was saved. Go back, copy what you entered, open the "
        "page again and save it there."
    )
    context = {"title": "This page is out of date", "text": text, "back": form_path(request)}
    return HttpResponse(render_to_string("refusal.html", context), status=403)


def form_path(request: HttpRequest) -> str:
    """Return the path of the page that has sent the form if it is one of this site, else ""."""
    referer = request.headers.get("Referer", "")
    if not url_has_allowed_host_and_scheme(referer, {request.get_host()}, require_https=request.is_secure()):
        return ""
    url = urlsplit(referer)
    # With two slashes first, or backslashes, which browsers take for slashes, it would be a link to another site.
    return url._replace(scheme="", netloc="", path="/" + url.path.lstrip("/\\")).geturl()


@bypass_rls()  # as at sign-in: no scope is set yet in which the account could be found
def sign_in_again(request: HttpRequest) -> HttpResponse:
    """Redirect a signed-in person; show everyone else the form with the typed address, without checking the password.

    So a request without a valid token, which another site may have sent, signs no one in.
    """
    view = SignInView()
    view.setup(request)
    if admin.site.has_permission(request):
        messages.info(request, f"You are already signed in as {current_user(request).email}.")
        return HttpResponseRedirect(view.get_success_url())
    text = "This page was out of date. Enter your password again."
    messages.warning(request, f"{text} If you see this a second time, allow cookies for this site.")
    typed = request.POST.get("username", "")
    # Not a password that was typed in the wrong field.
    form = SignInForm(request, initial={"username": typed if "@" in typed else ""})
    return view.render_to_response(view.get_context_data(form=form))
