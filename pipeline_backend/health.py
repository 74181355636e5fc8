"""Is the service well: one address for load balancers and for `make run`."""

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse


def healthz(request: HttpRequest) -> JsonResponse:
    """200 while the database answers, 503 otherwise."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return JsonResponse({"status": "error", "message": "The database does not answer"}, status=503, headers={"Retry-After": "5"})
    return JsonResponse({"status": "ok"})
