"""Every address of the admin, asked with another organization's ids by every role: nothing is shown, nothing changes (T1 to T14, D2, D3).

There is no list of pages here: addresses come from the URL map, pages, actions, filters and fields from the site. A new
one is walked by itself; one that the walk does not know how to ask is a finding, too.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.admin.utils import quote
from django.urls import reverse

from appointments.models import Appointment
from organizations.models import Organization, Role, User
from tests.admin.forms import FormParser
from tests.admin.pages import MODEL_ADMINS, admin_url
from tests.admin.sample_data import create_replays, create_sample_data
from tests.factories import make_member, owner_of, snapshot_of
from tests.hostile.routes import ADMIN_ROUTES, Route
from tests.hostile.tenants import TENANT_MODELS, TenantData, cross_tenant_references, make_admin_client, rolled_back

SURE = {"post": "yes", "confirmed": "yes"}


class Walk:
    """One role's way through the admin; what it should not have seen or done is in `findings`."""

    def __init__(self, role: str, ours: Organization, stranger: TenantData) -> None:
        self.member = make_member(ours, f"walking-{role.lower()}@acme.example", role=role)
        self.client = make_admin_client(self.member)
        self.ours, self.stranger = ours, stranger
        self.before = snapshot_of(stranger.organization)
        self.findings: list[str] = []

    def get(self, address: str, query: dict[str, str] | None = None, *sent: str) -> Any:
        """Look, and note what should not be there."""
        answer = self.client.get(address, query or {})
        self.check(f"GET {address} {query or ''}", answer, [address, *(query or {}).values(), *sent])
        return answer

    def post(self, address: str, data: dict[str, Any], *sent: str) -> Any:
        """Try to change, note what should not have happened, and undo it."""
        with rolled_back() as writes:
            answer = self.client.post(address, data)
            name = f"POST {address}"
            self.check(name, answer, [address, *sent])
            if not writes:
                return answer
            if snapshot_of(self.stranger.organization) != self.before:
                self.findings.append(f"{name} changed the stranger's rows")
            self.findings += [f"{name} made {crossing} point at the stranger" for crossing in cross_tenant_references()]
        return answer

    def check(self, name: str, answer: Any, sent: list[str]) -> None:
        """No failure, none of the stranger's words. (That an id was not found is said on the next page, with the id that was asked for.)"""
        self.client.cookies.pop("messages", None)
        if answer.status_code >= 500:
            self.findings.append(f"{name} failed with {answer.status_code}")
        self.findings += [f"{name} shows {word}" for word in self.stranger.words_in(answer, sent)]

    def own_row(self, page: Any) -> Any:
        """A row of the person's own organization, for this page."""
        own = {Organization: self.ours, User: self.member.user}
        return own.get(page.model) or page.model.objects.of(self.ours).first()


@pytest.fixture
def ours(organization: Organization) -> Appointment:
    """A call of Acme, which has one of everything."""
    call = create_sample_data(organization, "ours")
    create_replays(organization)
    return call


@pytest.fixture
def theirs(other_organization: Organization) -> TenantData:
    """Globex, which has one of everything, and a log of what its owner did."""
    call = create_sample_data(other_organization, "zyxwv")
    create_replays(other_organization)
    make_admin_client(owner_of(other_organization)).post(
        admin_url(Appointment, "add_note", call.pk), {"note": "zyxwv third note"}
    )
    return TenantData(other_organization)


@pytest.fixture(params=list(Role))
def walk(request: pytest.FixtureRequest, ours: Appointment, theirs: TenantData) -> Iterator[Walk]:
    """A role's walk, which must have found nothing in the end."""
    walk = Walk(request.param, ours.organization, theirs)
    yield walk
    assert walk.findings == []


def form_of(answer: Any) -> dict[str, Any]:
    """What a browser would send back from the page's form."""
    reader = FormParser()
    reader.feed(answer.content.decode())
    return {name: value for name, value in reader.data.items() if name != "csrfmiddlewaretoken"}


def form_in(answer: Any) -> Any:
    """The form that the page shows, as the server has it."""
    context = answer.context or {}
    return context["adminform"].form if "adminform" in context else context.get("form")


def fields_of(answer: Any) -> dict[str, Any]:
    """The fields of the page's form that choose among rows."""
    form = form_in(answer)
    return {name: field for name, field in (form.fields.items() if form else ()) if hasattr(field, "queryset")}


def asks_for_row(route: Route) -> bool:
    """Whether it is about one row of a page."""
    return route.model_admin is not None and "object_id" in route.arguments


def test_the_stranger_has_a_row_of_everything(theirs: TenantData):
    assert [model.__name__ for model, rows in theirs.rows.items() if not rows] == []
    assert [page.opts.label for page in MODEL_ADMINS if page.model not in theirs.rows] == []


def test_no_address_gives_the_stranger_away_or_changes_it(walk: Walk):
    for route in ADMIN_ROUTES:
        opened = (
            walk.get(route.build_url({"object_id": str(walk.own_row(route.model_admin).pk)}))
            if asks_for_row(route)
            else None
        )
        own = form_of(opened) if opened else {}
        for values in walk.stranger.url_arguments(route):
            address = route.build_url(values)
            seen, tried = (
                walk.get(address, None, *values.values()),
                walk.post(address, {**own, **SURE, "_save": "Save"}, *values.values()),
            )
            if asks_for_row(route) and {seen.status_code, tried.status_code} - {301, 302, 403, 404}:
                walk.findings.append(f"{address} was answered with {seen.status_code}, {tried.status_code}")
        if opened and opened.status_code == 200:
            send_by_hand(walk, route.model_admin, opened.wsgi_request.path, opened)
        walk.client.force_login(walk.member.user)  # one of the addresses signs out
    for page in MODEL_ADMINS:
        opened = walk.get(admin_url(page.model, "add"))
        if opened.status_code == 200:
            send_by_hand(walk, page, admin_url(page.model, "add"), opened)


def send_by_hand(walk: Walk, page: Any, address: str, opened: Any) -> None:
    """The form as it is, but with rows of the stranger wherever a row can be named, whether there is a field for it or not."""
    offered = {name: walk.stranger.id_of(field.queryset.model) for name, field in fields_of(opened).items()}
    pointing = {
        field.name: walk.stranger.id_of(field.related_model)
        for field in page.opts.fields
        if field.related_model in walk.stranger.rows
    }
    if not offered | pointing:
        return
    by_id = {f"{name}_id": id for name, id in pointing.items()}
    answer = walk.post(
        address, {**form_of(opened), "_save": "Save", **pointing, **by_id, **offered}, *walk.stranger.ids
    )
    taken = set(offered) - refused_fields(answer)
    walk.findings += [f"{address} took {name} of the stranger" for name in taken]


def test_no_list_shows_the_stranger_however_it_is_asked(walk: Walk):
    for page in MODEL_ADMINS:
        related = {
            field.name: walk.stranger.id_of(field.related_model)
            for field in page.opts.fields
            if field.related_model in walk.stranger.rows
        }
        queries: list[dict[str, str]] = [{}, {"q": "zyxwv"}, {"q": walk.stranger.id_of(page.model)}]
        queries += [{f"{name}__id__exact": id} for name, id in related.items()]
        for query in queries:
            answer = walk.get(admin_url(page.model, "changelist"), query)
            if answer.status_code == 403:
                break
            rows = answer.context["cl"].result_list if answer.context and "cl" in answer.context else []
            if any(str(row.pk) in walk.stranger.ids for row in rows):
                walk.findings.append(f"{page.opts.label} lists a row of the stranger for {query}")
        walk.get(admin_url(page.model, "add"), {**related, "organization": walk.stranger.id_of(Organization)})


def test_no_action_on_a_selection_reaches_the_stranger(walk: Walk):
    for page in MODEL_ADMINS:
        address = admin_url(page.model, "changelist")
        answer = walk.get(address)
        names = page.get_actions(answer.wsgi_request) if answer.status_code == 200 else {}
        for name in names:
            chosen = {"action": name, "_selected_action": walk.stranger.id_of(page.model), "index": "0"}
            walk.post(address, {**chosen, **SURE}, *chosen.values())
            walk.post(address, {**chosen, **SURE, "select_across": "1"}, *chosen.values())


def test_no_autocompletion_offers_the_stranger(walk: Walk):
    for model in [*TENANT_MODELS, Organization, User]:
        for field in model._meta.get_fields():
            asked = {"app_label": model._meta.app_label, "model_name": model._meta.model_name, "field_name": field.name}
            for term in ("", "zyxwv") if field.is_relation else ():
                walk.get(reverse("admin:autocomplete"), {**asked, "term": term})


def refused_fields(answer: Any) -> set[str]:
    """The fields at which the form shows an error."""
    form = form_in(answer)
    return set(form.errors) if form else set()


def test_ids_are_escaped_as_the_admin_does(theirs: TenantData):
    id = theirs.id_of(User)

    assert [
        route.build_url({"object_id": id}) for route in ADMIN_ROUTES if route.name == "organizations_user_change"
    ] == [admin_url(User, "change", id)]
    assert quote(id) in admin_url(User, "change", id)
