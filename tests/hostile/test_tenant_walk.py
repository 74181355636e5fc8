"""Every URL of the admin, requested by every role with ids of another organization: nothing is shown, nothing changes.

Nothing is listed by hand: the URLs come from Django's resolver; pages, actions, filters and fields come from the admin
site. A new one is tested automatically, and one for which a URL can't be built fails the test.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.admin import ModelAdmin
from django.contrib.admin.utils import quote
from django.urls import reverse

from appointments.models import Appointment
from organizations.models import MemberRole, Organization, SecurityEvent, User
from tests.factories import make_member, owner_of, snapshot_of
from tests.hostile.routes import ADMIN_ROUTES, Route
from tests.hostile.tenants import TENANT_MODELS, TenantData, cross_tenant_references, make_admin_client, rolled_back
from tests.staff.forms import FormParser
from tests.staff.pages import MODEL_ADMINS, admin_url

# What confirmation pages send.
CONFIRMED = {"post": "yes", "confirmed": "yes"}


class Crawler:
    """Requests the admin as one role; collects in `problems` what it should not have seen or changed."""

    def __init__(self, role: str, organization: Organization, other_data: TenantData) -> None:
        self.member = make_member(organization, f"crawler-{role.lower()}@acme.example", role=role)
        self.client = make_admin_client(self.member)
        self.organization, self.other_data = organization, other_data
        self.before = snapshot_of(other_data.organization)
        self.problems: list[str] = []

    def get(self, url: str, query: dict[str, str] | None = None, *sent: str) -> Any:
        """Request the URL, check the response and return it. `sent` are ids that the response may repeat."""
        query = query or {}
        response = self.client.get(url, query)
        self.check(f"GET {url} {query}", response, [url, *query.values(), *sent])
        return response

    def post(self, url: str, data: dict[str, Any], *sent: str) -> Any:
        """Post to the URL, check the response and what it wrote, roll that back, and return the response."""
        name = f"POST {url}"
        with rolled_back() as writes:
            response = self.client.post(url, data)
            self.check(name, response, [url, *sent])
            if writes:
                if snapshot_of(self.other_data.organization) != self.before:
                    self.problems.append(f"{name} changed the other organization's rows")
                self.problems += [f"{name} made {field} refer to it" for field in cross_tenant_references()]
        return response

    def check(self, name: str, response: Any, sent: list[str]) -> None:
        """Collect a server error, and words of the other organization."""
        # The next page would show a "not found" message with the id of this request.
        self.client.cookies.pop("messages", None)
        if response.status_code >= 500:
            self.problems.append(f"{name} failed with {response.status_code}")
        self.problems += [f"{name} shows {word}" for word in self.other_data.words_in(response, sent)]

    def own_row(self, model_admin: ModelAdmin) -> Any:
        """Return a row of the member's own organization for this page."""
        event = SecurityEvent.objects.filter(organization=self.organization).first()
        rows = {Organization: self.organization, User: self.member.user, SecurityEvent: event}
        return rows.get(model_admin.model) or model_admin.model.objects.of(self.organization).first()


@pytest.fixture
def other_data(both_organizations: tuple[Organization, Organization]) -> TenantData:
    """Globex's data: a row of every model, and an entry in the admin's log."""
    globex = both_organizations[1]
    appointment = Appointment.objects.of(globex).get(external_reference="zyxwv")
    make_admin_client(owner_of(globex)).post(
        admin_url(Appointment, "add_note", appointment.pk), {"note": "zyxwv third note"}
    )
    return TenantData(globex)


# Managers and sales-ops may do a part of what owners may, and setters what closers may (tests/roles).
@pytest.fixture(params=[MemberRole.OWNER, MemberRole.CLOSER, MemberRole.VIEWER])
def crawler(
    request: pytest.FixtureRequest,
    both_organizations: tuple[Organization, Organization],
    other_data: TenantData,
    settings: Any,
) -> Iterator[Crawler]:
    """A crawler of each role; fails the test if it has collected a problem."""
    settings.ADMIN_REQUESTS_PER_MINUTE = 10**9
    crawler = Crawler(request.param, both_organizations[0], other_data)
    yield crawler
    assert crawler.problems == []


def submitted_data(response: Any) -> dict[str, Any]:
    """Return what a browser would send from the page's form."""
    parser = FormParser()
    parser.feed(response.getvalue().decode())
    return {name: value for name, value in parser.data.items() if name != "csrfmiddlewaretoken"}


def form_of(response: Any) -> Any:
    """Return the form object of the page, or None."""
    context = response.context or {}
    return context["adminform"].form if "adminform" in context else context.get("form")


def related_fields(response: Any) -> dict[str, Any]:
    """Return the fields of the page's form that are a choice among rows."""
    form = form_of(response)
    return {name: field for name, field in (form.fields.items() if form else ()) if hasattr(field, "queryset")}


def is_about_a_row(route: Route) -> bool:
    """Return whether the route is a page about one row of a model."""
    return route.model_admin is not None and "object_id" in route.arguments


def test_the_sample_data_has_a_row_of_every_model(other_data: TenantData):
    assert [model.__name__ for model, rows in other_data.rows.items() if not rows] == []
    assert [page.opts.label for page in MODEL_ADMINS if page.model not in other_data.rows] == []


def test_no_url_shows_or_changes_another_organizations_rows(crawler: Crawler):
    for route in ADMIN_ROUTES:
        own_page = None
        if is_about_a_row(route):
            own_page = crawler.get(route.build_url({"object_id": str(crawler.own_row(route.model_admin).pk)}))
        own_values = submitted_data(own_page) if own_page else {}
        for values in crawler.other_data.url_arguments(route):
            url = route.build_url(values)
            got = crawler.get(url, None, *values.values())
            posted = crawler.post(url, {**own_values, **CONFIRMED, "_save": "Save"}, *values.values())
            if is_about_a_row(route) and {got.status_code, posted.status_code} - {301, 302, 403, 404}:
                crawler.problems.append(f"{url} was answered with {got.status_code}, {posted.status_code}")
        if own_page and own_page.status_code == 200:
            submit_with_other_rows(crawler, route.model_admin, own_page.wsgi_request.path, own_page)
        crawler.client.force_login(crawler.member.user)  # one of the URLs logs out
    for model_admin in MODEL_ADMINS:
        url = admin_url(model_admin.model, "add")
        add_page = crawler.get(url)
        if add_page.status_code == 200:
            submit_with_other_rows(crawler, model_admin, url, add_page)


def submit_with_other_rows(crawler: Crawler, model_admin: ModelAdmin, url: str, page: Any) -> None:
    """Send the page's form with the other organization's rows in every relation, also in those without a field."""
    other_data = crawler.other_data
    choices = {name: other_data.id_of(field.queryset.model) for name, field in related_fields(page).items()}
    relations = {
        field.name: other_data.id_of(field.related_model)
        for field in model_admin.opts.fields
        if field.related_model in other_data.rows
    }
    if not choices | relations:
        return
    columns = {f"{name}_id": id for name, id in relations.items()}
    data = {**submitted_data(page), "_save": "Save", **relations, **columns, **choices}

    form = form_of(crawler.post(url, data, *other_data.ids))

    accepted = set(choices) - set(form.errors if form else ())
    crawler.problems += [f"{url} accepted {name} of the other organization" for name in accepted]


def test_no_list_shows_another_organizations_rows_for_any_query(crawler: Crawler):
    other_data = crawler.other_data
    for model_admin in MODEL_ADMINS:
        relations = {
            field.name: other_data.id_of(field.related_model)
            for field in model_admin.opts.fields
            if field.related_model in other_data.rows
        }
        queries: list[dict[str, str]] = [{}, {"view": "all"}, {"q": "zyxwv"}]
        # A filter only narrows the rows that the role may see, so the owner's tries are enough.
        if crawler.member.role == MemberRole.OWNER:
            queries += [{"q": other_data.id_of(model_admin.model)}]
            queries += [{f"{name}__id__exact": id} for name, id in relations.items()]
        for query in queries:
            response = crawler.get(admin_url(model_admin.model, "changelist"), query)
            if response.status_code == 403:
                break
            rows = response.context["cl"].result_list if response.context and "cl" in response.context else []
            if any(str(row.pk) in other_data.ids for row in rows):
                crawler.problems.append(f"{model_admin.opts.label} lists a row of the other organization for {query}")
        crawler.get(admin_url(model_admin.model, "add"), {**relations, "organization": other_data.id_of(Organization)})


def test_no_action_on_selected_rows_reaches_another_organization(crawler: Crawler):
    for model_admin in MODEL_ADMINS:
        url = admin_url(model_admin.model, "changelist")
        response = crawler.get(url)
        actions = model_admin.get_actions(response.wsgi_request) if response.status_code == 200 else {}
        for name in actions:
            selection = {
                "action": name,
                "_selected_action": crawler.other_data.id_of(model_admin.model),
                "index": "0",
            }
            crawler.post(url, {**selection, **CONFIRMED}, *selection.values())
            crawler.post(url, {**selection, **CONFIRMED, "select_across": "1"}, *selection.values())


def test_no_autocompletion_offers_another_organizations_rows(crawler: Crawler):
    for model in [*TENANT_MODELS, Organization, User]:
        for field in model._meta.get_fields():
            query = {"app_label": model._meta.app_label, "model_name": model._meta.model_name, "field_name": field.name}
            for term in ("", "zyxwv") if field.is_relation else ():
                crawler.get(reverse("admin:autocomplete"), {**query, "term": term})


def test_urls_are_built_with_ids_escaped_as_in_the_admin(other_data: TenantData):
    id = other_data.id_of(User)
    user_routes = [route for route in ADMIN_ROUTES if route.name == "organizations_user_change"]

    assert [route.build_url({"object_id": id}) for route in user_routes] == [admin_url(User, "change", id)]
    assert quote(id) in admin_url(User, "change", id)
