"""The admin's door in the second wall: a request there is for the organizations of the person who is signed in."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from organizations.rights import held, is_operator
from organizations.wall import ALL, NOBODY, Whom, lifted, serve, staff


class StaffWall:
    """Middleware: behind Django's, which knows the session."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith("/admin/"):
            with lifted():
                whom = whom_of(request)
            serve(whom)
        return self.get_response(request)


def whom_of(request: HttpRequest) -> Whom:
    """All organizations for an operator, their own for anybody else."""
    if not request.user.is_authenticated:
        return NOBODY
    return ALL if is_operator(request) else staff(held(request))
