"""No text of a client or a person keeps the interpreter from other requests (docs/guarantees.md, M1).

Bringing 32,000 combining marks into a normal form (NFC, NFKD) takes seconds, in one call during which no other thread
of the process runs. Each field of each form, each field and parameter of each API operation, and each header gets such
a text, and the pages are opened with stored ones. Fields come from the pages and from the OpenAPI document.
"""

import json
import re
import unicodedata
from collections.abc import Iterator
from functools import partial
from itertools import cycle
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from django.core.validators import EmailValidator, RegexValidator
from django.db import models
from django.test.client import FakePayload

from accounts.invitations import invitation_link
from accounts.new_password import reset_link
from appointments.models import Appointment
from leads.models import CustomField, Lead
from organizations.models import Invitation, Organization
from tests.factories import make_api, owner_of
from tests.hostile.forms import PageForm, collect_forms, forms_of
from tests.hostile.held_interpreter import HeldInterpreter, held_interpreter
from tests.hostile.input_counter import count_inputs
from tests.hostile.openapi import body_fields, body_with, operations, query_parameters
from tests.hostile.routes import ADMIN_ROUTES, url_template
from tests.hostile.tenants import DownloadingClient, TenantData, rolled_back

BLOCKS, ALTERNATING = "\u0301" * 16_000 + "\u0327" * 16_000, "\u0301\u0327" * 16_000
# A text is parsed further only if it has the shape of its type.
SHAPES = {"email": "a@{}.example", "url": "https://{}", "uri": "https://{}"}
HEADERS = (
    *("Accept", "Accept-Encoding", "Accept-Language", "Authorization", "Content-Type", "Cookie", "Forwarded", "Host"),
    *("If-Modified-Since", "If-None-Match", "Origin", "Range", "Referer", "Traceparent", "User-Agent", "X-Api-Key"),
    *("X-CSRFToken", "X-Forwarded-For", "X-Forwarded-Proto", "X-Request-Id"),
)
HELD_SECONDS = 0.05
ATTEMPTS = 4  # on a busy machine the thread that measures can be late


class MeasuredClient(DownloadingClient):
    """A client that repeats a request which held the interpreter; `problems` names those that always do."""

    def __init__(self, held: HeldInterpreter) -> None:
        super().__init__(raise_request_exception=False)
        self.held, self.problems = held, list[str]()

    def request(self, **request: Any) -> Any:
        """Return the response."""
        body = request["wsgi.input"].read() if "wsgi.input" in request else b""
        problem = ""
        for _ in range(ATTEMPTS):
            send = partial(super().request, **{**request, "wsgi.input": FakePayload(body)})
            response, seconds = self.held.measure(send)
            problem = str(response.status_code) if response.status_code >= 500 else f"held for {seconds:.2f} s"
            if seconds <= HELD_SECONDS and response.status_code < 500:
                return response
        address = f"{request['REQUEST_METHOD']} {request['PATH_INFO'][:100]}?{request.get('QUERY_STRING', '')[:50]}"
        self.problems.append(f"{address}: {problem}")
        return response


@pytest.fixture
def held() -> Iterator[HeldInterpreter]:
    """The thread that measures."""
    with held_interpreter() as held:
        yield held


@pytest.fixture
def data(both_organizations: tuple[Organization, Organization], settings: Any) -> TenantData:
    """Acme's data, with no limit on requests."""
    settings.ADMIN_REQUESTS_PER_MINUTE = settings.RATE_LIMIT_PER_MINUTE = settings.FAILED_KEYS_PER_MINUTE = 10**9
    return TenantData(both_organizations[0])


@pytest.fixture
def visitor(held: HeldInterpreter) -> MeasuredClient:
    """A client that is not signed in."""
    return MeasuredClient(held)


@pytest.fixture
def owner(held: HeldInterpreter, data: TenantData) -> MeasuredClient:
    """A client with a session of Acme's owner."""
    client = MeasuredClient(held)
    client.force_login(owner_of(data.organization).user)
    return client


def store_long_texts(data: TenantData) -> None:
    """Fill every text column of every row that an organization or its clients fill, as far as it goes."""
    for model, rows in data.rows.items():
        columns = [
            field
            for field in model._meta.concrete_fields
            if isinstance(field, models.CharField | models.TextField)
            and not (field.is_relation or field.primary_key or field.choices or field.name in ("password", "time_zone"))
            # The others have a form that ends such a text.
            and not any(isinstance(validator, RegexValidator | EmailValidator) for validator in field.validators)
        ]
        for number, row in enumerate(rows):
            texts = {field.name: f"{number}{BLOCKS[10_000:22_000]}"[: field.max_length or 10_000] for field in columns}
            model._base_manager.filter(pk=row.pk).update(**texts)
    ids = CustomField.objects.of(data.organization).values_list("pk", flat=True)
    for model in (Lead, Appointment):
        values = {str(id): BLOCKS[10_000:20_000] for id in ids}
        model.objects.of(data.organization).update(custom_values=values)


def send_everywhere(client: MeasuredClient, form: PageForm) -> None:
    """Send the form with a long text in each field: in the shape of its type if a person types it."""
    typed = {name: SHAPES.get(kind, "{}").format(BLOCKS) for name, kind in form.typed.items()}
    with rolled_back():
        form.send(client, {**dict.fromkeys(form.fields, ALTERNATING), **typed})


def test_the_measure_finds_a_call_that_holds_the_interpreter(held: HeldInterpreter) -> None:
    _, seconds = held.measure(lambda: unicodedata.normalize("NFKD", BLOCKS))
    plain = min(held.measure(lambda: unicodedata.normalize("NFKD", "a" * len(BLOCKS)))[1] for _ in range(ATTEMPTS))

    assert plain < HELD_SECONDS < seconds


def test_no_form_and_no_page_with_long_texts_holds_the_interpreter(
    owner: MeasuredClient, data: TenantData, measurements: dict[str, str]
) -> None:
    store_long_texts(data)

    # Opening the pages of the forms shows the stored texts; the campaign is one of them.
    forms = collect_forms(owner, data, "/admin/reports/?by=utm_campaign")
    # The forms above a list, of which each list has three, are tried in test_admin_parameters.py.
    for form in forms:
        if form.method == "post" or "q" not in form.typed:
            send_everywhere(owner, form)

    count_inputs(measurements, "admin fields", sum(len(form.fields) for form in forms))
    assert owner.problems == []


def test_a_report_by_campaigns_with_long_names_never_holds_the_interpreter(
    owner: MeasuredClient, data: TenantData
) -> None:
    texts = [BLOCKS[start : start + 8_000] for start in (12_000, 12_100, 12_200)]
    appointments = Appointment.objects.of(data.organization)
    for number, text in enumerate(texts):
        make_api(data.organization).book(external_reference=f"campaign-{number}")
        appointments.filter(external_reference=f"campaign-{number}").update(utm_campaign=text)

    page = owner.get("/admin/reports/?by=utm_campaign")

    assert (page.status_code, owner.problems) == (200, [])
    assert [page.content.decode().count(f'title="{text[:200]}"') for text in texts] == [1] * 3  # they begin alike


def test_no_form_of_a_visitor_holds_the_interpreter(visitor: MeasuredClient, data: TenantData) -> None:
    invitation = Invitation.objects.of(data.organization).get()
    links = [invitation_link(invitation), reset_link(owner_of(data.organization).user)]
    urls = ["/admin/login/", "/admin/password-reset/", *(urlsplit(link).path for link in links)]

    forms = [form for url in urls for form in forms_of(visitor.get(url, follow=True))]
    for form in forms:
        send_everywhere(visitor, form)

    assert sorted({name for form in forms for name in form.typed}) == [
        *("email", "first_name", "last_name", "new_password1", "new_password2", "password", "username"),
    ]
    assert visitor.problems == []


def test_no_address_of_the_admin_holds_the_interpreter(owner: MeasuredClient, data: TenantData) -> None:
    names = cycle(("q", "next", "view", "saved", "p", "organization", "_changelist_filters"))

    for route in ADMIN_ROUTES:
        template = re.sub("<[^>]+>", BLOCKS, url_template(route.pattern))
        if route.name != "logout":
            owner.get(f"{template}?{next(names)}={quote(ALTERNATING)}")

    assert owner.problems == []


def test_no_field_and_no_parameter_of_the_api_holds_the_interpreter(visitor: MeasuredClient, data: TenantData) -> None:
    api, lead_id = make_api(data.organization), data.id_of(Lead)
    api.client = visitor

    for field in body_fields():
        method, path = field.operation.split(" ")
        for text in (BLOCKS, SHAPES.get(field.format, "{}").format(ALTERNATING)):
            with rolled_back():
                api.request(method, path.replace("{id}", lead_id), body_with(*field[:2], json.dumps(text)))
    for parameter in query_parameters():
        api.get(parameter.path, {parameter.name: BLOCKS})
    for name in operations():
        method, path = name.split(" ")
        api.request(method, path.replace("{id}", BLOCKS))

    assert visitor.problems == []


def test_no_header_holds_the_interpreter(visitor: MeasuredClient, owner: MeasuredClient, data: TenantData) -> None:
    key, text = make_api(data.organization).key, BLOCKS.encode().decode("latin-1")  # as WSGI has it
    requests = [
        (visitor, "GET", "/api/external/statuses", {"x-api-key": key}),
        (visitor, "POST", "/api/opt-in/submit", {"x-api-key": key}),
        (visitor, "POST", "/admin/login/", {}),
        (owner, "POST", "/admin/leads/lead/add/", {}),
    ]

    for header in HEADERS:
        for value in (text, f"https://{text}", f"multipart/form-data; boundary={text}", f"a={text}; q={text}"):
            for client, method, path, headers in requests:
                client.generic(method, path, headers={**headers, header: value})

    assert visitor.problems + owner.problems == []
