"""Every admin address with every hostile parameter: a refusal or a page, never an error (L2 of the catalogue).

The addresses come from the URL resolver, so a new page is tried without being listed here. "Hostile" are parameters
that Django's admin would hand to the database or to a template: lookups that no filter offers, NUL, impossible dates,
numbers without end.
"""

import logging
from itertools import cycle
from typing import Any

import pytest
from django.contrib.admin import ModelAdmin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from organizations.models import Organization, User
from tests.factories import owner_of
from tests.hostile.input_counter import count_inputs
from tests.hostile.routes import ADMIN_ROUTES, Route, url_template
from tests.hostile.tenants import TenantData, make_admin_client, rolled_back
from tests.staff.pages import MODEL_ADMINS, admin_url

DIGITS = "9" * 5000
VALUES = ("%00", "%ff%ed%a0%80", "x%0d%0ay", "-99999999999", DIGITS)
# Names that are sent together: pages refuse `_to_field` before they look at others.
NAMES = (
    ("p", "o", "q", "e", "_changelist_filters", "next", "organization", "id", "__"),
    ("_popup", "_to_field"),
)
LIST_NAMES = (
    "p", "o", "q", "e", "all", "_facets", "_popup", "_to_field", "_changelist_filters", "next", "organization", "term",
    "id", "pk", "user__id__exact", "created_at_from", "created_at_to", "schedule_time_from", "is_active__exact",
    "endpoint__id__exact", "role__exact", "role__in", "topic", "%00", "__",
)  # fmt: skip
LOOKUPS = (
    "regex=(", "regex=(.*)*%5C1", "iregex=a", "trigram_similar=a", "trigram_word_similar__gt=a", "unaccent=a",
    "search=a",
    "in=,,,", "range=a", "range=1,2,3", "isnull=maybe", "year=99999999999", "year=0", "date=0000-00-00", "contains=%00",
    "gt=%00", "exact=%00", "len=5", "0=1", "contained_by=a", "has_key=a", "organization__name__regex=(", "startswith=a",
    "id__exact=%00", "icontains=a", "=a",
)  # fmt: skip
# `{field}` stands for each column of the list's table.
LIST_QUERIES = (
    *(f"{name}={value}" for name, value in zip(LIST_NAMES, cycle(VALUES), strict=False)),
    *(f"{name}={value}" for name, value in zip(LIST_NAMES, cycle(VALUES[::-1]), strict=False)),
    f"layout=board&column=&offset={DIGITS}",
    f"layout=calendar&hosts={DIGITS}",
    f"layout=calendar&days={DIGITS}",
    "created_at_from=99999999999-01-01&created_at_to=0000-00-00",
    f"columns={DIGITS}&o=99&setter__id__exact=none&setter__id__exact=%C2%B2&since_days={DIGITS}&since_from=0",
    "setter__id__exact=none" + "&setter__id__exact=01a2195c-d281-7573-9471-0abc9dbed5e7" * 900,
    "created_at_from=0001-01-01&created_at_to=9999-12-31&left_from=x",
    "schedule_time_from=0001-01-01&schedule_time_to=99999999999-12-31",
    "organization__slack_url__startswith=x", "memberships__role=OWNER", "logentry=1", "pk__in=1,2,%00", "p=-1&e=1",
    "q=%22", "q=%22a", "q=" + "a%20" * 2000, "q=" + "%25" * 2000, "o=1.1.1.-99.--", "_popup=1&_to_field=password",
    "_to_field=user", "_changelist_filters=%26%00%3D", "&".join(["a=1"] * 1001),
)  # fmt: skip
AUTOCOMPLETE_FIELDS = (
    ("appointments", "appointment", "lead"),
    ("appointments", "appointment", "%00"),
    ("appointments", "%00", "lead"),
    ("%00", "appointment", "lead"),
    ("appointments", "appointment", "id"),
    ("appointments", "appointment", "status_changes"),
    ("appointments", "lead", "lead"),
    ("leads", "lead", "appointments"),
    ("organizations", "user", "groups"),
    ("organizations", "membership", "user"),
    ("webhooks", "delivery", "event"),
    ("admin", "logentry", "user"),
    ("a" * 5000, "b" * 5000, "c" * 5000),
)
AUTOCOMPLETE_TERMS = ("", "term=%00", "term=%22", "page=x", f"page={DIGITS}", "page=-1", "term=" + "a%20" * 2000)
# The admin reads `_00` in an id as a NUL, and AAAA is three NULs in base64.
ARGUMENTS = (
    "%00",
    "_00",
    "AAAA",
    "_ff_fe",
    "%ff",
    "%ed%a0%80",
    "-1",
    "x_0D_0Ay",
    DIGITS[:30],
    DIGITS,
    "..%2f..",
    "_",
    "a/b",
)


@pytest.fixture
def operator(db: None) -> Client:
    """A client signed in as a superuser, which gets a 500 response where a view raises."""
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_superuser("root@example.com", "secret-of-tests"))
    return client


@pytest.fixture
def own_data(both_organizations: tuple[Organization, Organization]) -> TenantData:
    """Acme's data, with a row of every model to fill URLs with."""
    return TenantData(both_organizations[0])


class Prober:
    """Requests addresses, and collects in `problems` those that end in an error, with a line in the log or a write."""

    def __init__(self, client: Client, caplog: pytest.LogCaptureFixture, measurements: dict[str, str]) -> None:
        self.client, self.caplog, self.measurements = client, caplog, measurements
        self.problems: list[str] = []

    def get(self, address: str) -> Any:
        """Request the address and return the response."""
        self.caplog.clear()
        # As a server passes it on: test clients would decode and encode the address themselves.
        path, _, query = address.partition("?")
        response = self.client.get(path, QUERY_STRING=query)
        self.check(address, response)
        return response

    def post(self, address: str, body: dict[str, object]) -> None:
        """Send a form to the address."""
        self.caplog.clear()
        self.check(f"{address} {str(body)[:100]}", self.client.post(address, body))

    def check(self, name: str, response: Any) -> None:
        """Collect what is wrong with the response."""
        count_inputs(self.measurements, "admin addresses", 1)
        # The messages of refused requests would be sent with every later one.
        self.client.cookies.pop("messages", None)
        shown = f"{name[:200]}: {response.status_code}"
        b"".join(response)  # a file's response closes it after its last part
        if response.status_code >= 500:
            self.problems.append(shown)
        self.problems += [
            f"{shown} logged {record.getMessage()[:80]!r}"
            for record in self.caplog.records
            if record.exc_info or record.levelno >= logging.ERROR
        ]


@pytest.fixture
def prober(settings: Any, caplog: pytest.LogCaptureFixture, measurements: dict[str, str]) -> Any:
    """Return a function that makes a prober with a client; no limit on requests stands in its way."""
    settings.ADMIN_REQUESTS_PER_MINUTE = 10**9
    return lambda client: Prober(client, caplog, measurements)


def list_fields(model_admin: ModelAdmin) -> list[str]:
    """Return a column or relation of each kind of the list's table: of each class, with and without a filter."""
    filtered = {entry[0] if isinstance(entry, tuple) else entry for entry in model_admin.list_filter}
    fields = model_admin.opts.get_fields()
    return list({(type(field), field.name in filtered): field.name for field in fields}.values())


@pytest.mark.parametrize("number", range(len(MODEL_ADMINS)), ids=[page.opts.label for page in MODEL_ADMINS])
def test_no_list_fails_for_a_hostile_query(number: int, own_data: TenantData, prober: Any):
    model_admin = MODEL_ADMINS[number]
    probe, url = prober(make_admin_client(owner_of(own_data.organization))), admin_url(model_admin.model, "changelist")
    # Lists share the code that reads parameters, and try these in turns; those with layouts have more of it.
    queries = LIST_QUERIES if len(model_admin.layouts) > 1 else LIST_QUERIES[number % 2 :: 2]
    lookups = cycle(LOOKUPS[number % len(LOOKUPS) :] + LOOKUPS)
    by_field = [f"{field}__{lookup}" for field, lookup in zip(list_fields(model_admin), lookups, strict=False)]

    for query in (*queries, *by_field):
        probe.get(f"{url}?{query}")

    assert probe.problems == []


@pytest.mark.parametrize("model_admin", MODEL_ADMINS, ids=lambda model_admin: model_admin.opts.label)
def test_a_list_executes_no_lookup_that_it_does_not_offer(model_admin: ModelAdmin, own_data: TenantData, prober: Any):
    probe, url = prober(make_admin_client(owner_of(own_data.organization))), admin_url(model_admin.model, "changelist")
    table, executed = f'FROM "{model_admin.opts.db_table}"', []
    lookups = cycle(("regex", "startswith", "organization__name__regex"))

    for field, lookup in zip(list_fields(model_admin), lookups, strict=False):
        with CaptureQueriesContext(connection) as queries:
            response = probe.get(f"{url}?{field}__{lookup}=a")
        executed += [
            f"{field}__{lookup}"
            for query in queries
            if response.status_code != 400 or (table in query["sql"] and "~" in query["sql"])
        ][:1]

    refused = [probe.get(f"{url}?{query}").status_code for query in ("unknown=1", "q=" + "a%20" * 11)]

    assert (executed, probe.problems) == ([], [])
    assert refused == [400, 400]


def test_no_other_page_fails_for_a_hostile_query(own_data: TenantData, prober: Any):
    probe = prober(make_admin_client(owner_of(own_data.organization)))
    routes = [route for route in ADMIN_ROUTES if route.name != "logout" and "changelist" not in (route.name or "")]

    get_with_names(probe, routes, own_data)

    assert probe.problems == []


def test_no_form_for_a_new_row_fails_for_a_value_in_its_address(own_data: TenantData, prober: Any):
    client = make_admin_client(owner_of(own_data.organization))
    probe = prober(client)

    values = ("x", "2026-12-01T10:00:00Z", "0001-01-01T00:00:00Z", "2026-12-01")
    for route in ADMIN_ROUTES:
        for url in addresses(route, own_data) if (route.name or "").endswith("_add") else ():
            context = client.get(url).context
            names = context["adminform"].form.fields if context and "adminform" in context else ()
            # All at once, except what the other fields depend on; and each alone, with one of the values.
            for value in values:
                probe.get(f"{url}?{'&'.join(f'{name}={value}' for name in names if name != 'organization')}")
            for name, value in zip(names, cycle(values), strict=False):
                probe.get(f"{url}?{name}={value}")

    assert probe.problems == []


def get_with_names(probe: Prober, routes: list[Route], own_data: TenantData) -> None:
    """Request the addresses with each name, and once with a NUL, which is refused before a page looks at the others."""
    values, with_nul = cycle((*VALUES[1:], "1")), cycle([*(f"{name}=%00" for name in sum(NAMES, ())), "%00=1"])
    for route in routes:
        for url in addresses(route, own_data):
            for some in NAMES:
                probe.get(f"{url}?{'&'.join(f'{name}={next(values)}' for name in some)}")
            probe.get(f"{url}?{next(with_nul)}")


def test_autocompletion_never_fails(own_data: TenantData, prober: Any):
    probe = prober(make_admin_client(owner_of(own_data.organization)))

    for app, model, field in AUTOCOMPLETE_FIELDS:
        for term in AUTOCOMPLETE_TERMS:
            probe.get(f"/admin/autocomplete/?app_label={app}&model_name={model}&field_name={field}&{term}")
    for query in ("", "term=%00", "app_label=x", "p=0"):
        probe.get(f"/admin/autocomplete/?{query}")

    assert probe.problems == []


def addresses(route: Route, own_data: TenantData) -> list[str]:
    """Return the route's address with own ids; only the first of those that differ by their ids alone."""
    return [route.build_url(values) for values in own_data.url_arguments(route)][:1]


def hostile_paths(route: Route) -> list[str]:
    """Return the route's address with each hostile text in the place of each argument."""
    template = url_template(route.pattern)
    paths = []
    for hostile in ARGUMENTS if route.arguments else ():
        path = template
        for name in route.arguments:
            path = path.replace(f"<{name}>", hostile)
        paths.append(path)
    return paths


# Every address gets a third of the hostile texts from the owner, in turns. Of the others' requests, most end at the
# same checks before they reach a page.
@pytest.mark.parametrize(("role", "every"), [("owner", 3), ("operator", 8), ("visitor", 8)])
def test_no_address_fails_for_a_hostile_path(
    role: str, every: int, own_data: TenantData, operator: Client, prober: Any
):
    owner = make_admin_client(owner_of(own_data.organization))
    visitor = Client(raise_request_exception=False)
    probe = prober({"owner": owner, "operator": operator, "visitor": visitor}[role])

    for path in [path for route in ADMIN_ROUTES for path in hostile_paths(route)][::every]:
        probe.get(path)

    assert probe.problems == []


def test_no_address_fails_for_a_visitors_hostile_query(own_data: TenantData, prober: Any):
    probe = prober(Client(raise_request_exception=False))

    get_with_names(probe, ADMIN_ROUTES, own_data)

    assert probe.problems == []


# Only a list looks at the rows that an action is for.
LIST_BODIES: tuple[dict[str, object], ...] = (
    {"action": "cancel_selected", "_selected_action": ["\0", "x" * 5000, DIGITS], "post": "yes", "confirmed": "yes"},
    {"action": "cancel_selected", "_selected_action": "-1", "index": "99", "select_across": "\0"},
    {"action": "", "index": DIGITS, "_selected_action": "\ud7ff"},
)
BODY_NAMES = (
    *("action", "_selected_action", "_to_field", "version", "organization", "id", "note", "url", "session", "reason"),
    *("label", "old_password", "new_password1", "new_password2", "username", "password", "next"),
)
# Also for pages without these fields; the fields that pages have are tried in test_malformed_ids.py.
BODIES: tuple[dict[str, object], ...] = (
    {**dict.fromkeys(BODY_NAMES, "\0"), "_popup": "1", "_saveasnew": "1", "post": "yes", "confirmed": "yes"},
    {
        **{"form-TOTAL_FORMS": DIGITS, "form-INITIAL_FORMS": "-1", "_save": "x"},
        **{"username": "a" * 5000 + "@example.com", "password": "p" * 100_000},
    },
)


# Operators send the owners' forms, with an organization.
@pytest.mark.parametrize(("role", "every"), [("owner", 1), ("operator", 3), ("visitor", 1)])
def test_no_address_fails_for_a_hostile_body(
    role: str, every: int, own_data: TenantData, operator: Client, prober: Any
):
    owner = make_admin_client(owner_of(own_data.organization))
    visitor = Client(raise_request_exception=False)
    probe = prober({"owner": owner, "operator": operator, "visitor": visitor}[role])

    for route in ADMIN_ROUTES[::every]:
        for url in addresses(route, own_data) if route.name != "logout" else ():
            for body in (*BODIES, *LIST_BODIES) if "changelist" in (route.name or "") else BODIES:
                with rolled_back():
                    probe.post(url, body)

    assert probe.problems == []
