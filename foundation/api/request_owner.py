"""The organization and the person of a request, which the web server needs for turns (docs/decisions/0008).

Authentication notes them in the request's META, which is the WSGI environment. The web server reads them after the
response, for the next request with the same key or session. No header can set these names.
"""

from typing import Any

from django.http import HttpRequest

ORGANIZATION, PERSON = "pipeline.organization", "pipeline.person"


def note_organization(request: HttpRequest, organization_id: object) -> None:
    request.META[ORGANIZATION] = str(organization_id)


def note_person(request: HttpRequest, person_id: object, organization_ids: list[Any]) -> None:
    request.META[PERSON] = str(person_id)
    if len(organization_ids) == 1:
        note_organization(request, organization_ids[0])
