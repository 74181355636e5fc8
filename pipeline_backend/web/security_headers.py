"""What browsers are told of every page: where its parts may come from, and what it may do there.

Scripts come from our own files alone, never from within a page. Three kinds of pages need more than nothing; the rest,
JSON above all, is given nothing.
"""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

CSP_NONE = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
CSP_SELF = "default-src 'none'; connect-src 'self'; font-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
# The admin's Alpine evaluates what stands in attributes; its theme, and a status's colors, are styles within the page.
ADMIN = f"{CSP_SELF}; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'"
# So is a style of Swagger UI's page.
DOCS = f"{CSP_SELF}; script-src 'self'; style-src 'self' 'unsafe-inline'"
INBOX = f"{CSP_SELF}; style-src 'self'"

POLICIES = {"/admin/": ADMIN, "/api/docs": DOCS, "/local/": INBOX}
PERMISSIONS = "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"


class SecurityHeadersMiddleware:
    """Sets `Content-Security-Policy` and `Permissions-Policy`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Serve the request, then say what its page may do."""
        response = self.get_response(request)
        response["Content-Security-Policy"] = policy_of(request.path_info)
        response["Permissions-Policy"] = PERMISSIONS
        return response


def policy_of(path: str) -> str:
    """The policy of the page at this path."""
    return next((policy for start, policy in POLICIES.items() if path.startswith(start)), CSP_NONE)
