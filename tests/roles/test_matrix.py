"""What each role may do: every page, button and action of the admin, for own, unassigned and colleagues' rows.

The URLs come from Django's resolver and the actions from the admin site. One that has no line in the tables below fails
the tests, so that nothing new stays without a decision.
"""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.sessions.backends.db import SessionStore
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.test import RequestFactory
from django.urls import resolve, reverse
from pytest_django import DjangoDbBlocker

from appointments.models import Appointment, CallAnalysis
from leads.models import Lead
from organizations.models import MemberRole, Membership, Organization, SecurityEvent, User
from statuses.models import Status, StatusRole
from tests.factories import make_analysis, make_api, make_member, make_organization, snapshot_of
from tests.hostile.routes import ADMIN_ROUTES, Route
from tests.hostile.tenants import rolled_back
from tests.shared_rows import clear_caches, shared_rows
from tests.staff.pages import MODEL_ADMINS, admin_url, logged_in_client
from tests.staff.sample_data import create_replays, create_sample_data

OWNER, MANAGER, SALES_OPS, CLOSER, SETTER, VIEWER = MemberRole.values
OUTSIDER = "an owner of another organization"
MINE, FREE, THEIRS = "mine", "unassigned", "a colleague's"

# Whether a member with this role may do something with such a row.
Rule = Callable[[str, str], bool]


def only(*roles: str) -> Rule:
    """Return the rule that lets these roles do it with all rows."""
    return lambda role, whose: role in roles


EVERYBODY = only(*MemberRole.values)
WORKERS = only(OWNER, MANAGER, SALES_OPS, CLOSER, SETTER)
BACK_OFFICE = only(OWNER, MANAGER, SALES_OPS)
LEADERS = only(OWNER, MANAGER)
OWNERS = only(OWNER)
NOBODY = only()


def own_work(role: str, whose: str) -> bool:
    """Let closers and setters change what is theirs or nobody's."""
    return BACK_OFFICE(role, whose) or (role in (CLOSER, SETTER) and whose != THEIRS)


def own_account(role: str, whose: str) -> bool:
    """Let people change what is about themselves."""
    return role != OUTSIDER and whose == MINE


def own_account_or_leader(role: str, whose: str) -> bool:
    """Let people change their own membership, and owners and managers all."""
    return own_account(role, whose) or LEADERS(role, whose)


# Model: who may see rows, add one, change one, and delete one.
ROWS: dict[str, tuple[Rule, Rule, Rule, Rule]] = {
    "leads.lead": (EVERYBODY, WORKERS, own_work, NOBODY),
    "leads.possibleduplicate": (EVERYBODY, NOBODY, EVERYBODY, NOBODY),  # its page leads to that of both leads
    "leads.source": (EVERYBODY, NOBODY, BACK_OFFICE, NOBODY),
    "leads.import": (BACK_OFFICE, BACK_OFFICE, BACK_OFFICE, NOBODY),
    "leads.customfield": (BACK_OFFICE, BACK_OFFICE, BACK_OFFICE, BACK_OFFICE),
    "optins.optin": (EVERYBODY, NOBODY, NOBODY, NOBODY),
    "appointments.appointment": (EVERYBODY, WORKERS, own_work, NOBODY),
    "appointments.callanalysis": (EVERYBODY, WORKERS, own_work, NOBODY),
    # Those of the sample data are by nobody in particular; tests/record/test_notes.py says who changes their own.
    "appointments.note": (EVERYBODY, NOBODY, LEADERS, LEADERS),
    "leads.leadnote": (EVERYBODY, NOBODY, LEADERS, LEADERS),
    "appointments.eventtype": (BACK_OFFICE, BACK_OFFICE, BACK_OFFICE, BACK_OFFICE),
    "notifications.leadmessage": (BACK_OFFICE, BACK_OFFICE, BACK_OFFICE, NOBODY),
    "statuses.status": (BACK_OFFICE, BACK_OFFICE, BACK_OFFICE, BACK_OFFICE),
    "webhooks.event": (BACK_OFFICE, NOBODY, NOBODY, NOBODY),
    "webhooks.endpoint": (BACK_OFFICE, BACK_OFFICE, BACK_OFFICE, NOBODY),
    "webhooks.delivery": (BACK_OFFICE, NOBODY, BACK_OFFICE, NOBODY),
    "notifications.notification": (BACK_OFFICE, NOBODY, NOBODY, NOBODY),
    "organizations.apikey": (BACK_OFFICE, BACK_OFFICE, BACK_OFFICE, NOBODY),
    "organizations.membership": (own_account_or_leader, NOBODY, own_account_or_leader, NOBODY),
    "organizations.invitation": (LEADERS, LEADERS, NOBODY, NOBODY),
    "organizations.organization": (LEADERS, NOBODY, OWNERS, NOBODY),
    "organizations.securityevent": (OWNERS, NOBODY, NOBODY, NOBODY),
    "organizations.user": (own_account, NOBODY, own_account, NOBODY),
}
# Everybody may open these lists: they show the person's own rows.
PERSONAL_LISTS = {"organizations.membership", "organizations.securityevent", "organizations.user"}
# The URL's name: who may open it, and who may send its form.
PAGES: dict[str, tuple[Rule, Rule]] = {
    **dict.fromkeys(
        [
            "appointments_appointment_accept_suggestion",
            "appointments_appointment_reschedule",
            "appointments_appointment_set_won",
            "appointments_appointment_set_lost",
            "appointments_appointment_set_no_show",
            "appointments_appointment_set_follow_up",
            "appointments_appointment_set_outcome",
            "appointments_appointment_undo_outcome",
            "appointments_appointment_cancel",
            "leads_lead_set_status",
            "leads_lead_set_next_step",
            "leads_lead_set_phone",
            "leads_lead_set_setter",
            "leads_lead_finish_next_step",
            "leads_lead_change_next_step",
            "leads_lead_log_call",
            "leads_lead_duplicates",
            "leads_lead_merge",
        ],
        (own_work, own_work),
    ),
    **dict.fromkeys(
        [
            f"{name}_export_{kind}"
            for name in ("leads_lead", "optins_optin", "appointments_appointment")
            for kind in ("csv", "xlsx")
        ],
        (BACK_OFFICE, BACK_OFFICE),
    ),
    **dict.fromkeys(
        [
            f"{name}_{act}"
            for name in ("leads_lead", "leads_possibleduplicate", "optins_optin", "appointments_appointment")
            for act in ("save_view", "change_view", "columns")
        ],
        (EVERYBODY, EVERYBODY),  # their own; tests/lists/test_saved_views.py says who shares
    ),
    **dict.fromkeys(
        [
            "appointments_appointment_add_note",
            "leads_lead_add_note",
            *(f"{name}_{act}" for name in ("leads_leadnote", "appointments_note") for act in ("pin", "unpin")),
        ],
        (WORKERS, WORKERS),  # also about a colleague's
    ),
    "leads_lead_export_json": (BACK_OFFICE, BACK_OFFICE),
    "leads_lead_erase": (LEADERS, LEADERS),
    "leads_import_progress": (BACK_OFFICE, BACK_OFFICE),
    "leads_import_refused": (BACK_OFFICE, BACK_OFFICE),
    "notifications_leadmessage_preview": (BACK_OFFICE, BACK_OFFICE),
    "notifications_leadmessage_send_test": (BACK_OFFICE, BACK_OFFICE),
    "webhooks_delivery_replay": (BACK_OFFICE, BACK_OFFICE),
    "webhooks_endpoint_replays": (BACK_OFFICE, BACK_OFFICE),
    "webhooks_endpoint_send_test": (BACK_OFFICE, BACK_OFFICE),
    "webhooks_endpoint_replay_missed": (BACK_OFFICE, BACK_OFFICE),
    "webhooks_endpoint_rotate_secret": (BACK_OFFICE, BACK_OFFICE),
    "organizations_apikey_rotate": (LEADERS, LEADERS),  # the key has all scopes, also erase
    "organizations_apikey_revoke": (BACK_OFFICE, BACK_OFFICE),
    "organizations_membership_hand_over": (LEADERS, LEADERS),
    "organizations_membership_leave": (own_account, own_account),
    "organizations_membership_email_notifications": (own_account_or_leader, own_account_or_leader),
    "organizations_membership_calendar_address": (own_account, own_account),
    "organizations_membership_revoke_calendar_address": (own_account_or_leader, own_account_or_leader),
    "organizations_invitation_send_again": (LEADERS, LEADERS),
    "organizations_invitation_withdraw": (LEADERS, LEADERS),
    "organizations_invitation_allow_again": (NOBODY, NOBODY),
    "organizations_organization_connect_slack": (OWNERS, OWNERS),
    "organizations_organization_retention": (OWNERS, OWNERS),
}
# The URL's name of forms that name a row in what they send: the model, what is sent, and who may send it.
SENT_ROWS: dict[str, tuple[Any, Callable[[Any], dict[str, Any]], Rule]] = {
    "leads_lead_move": (Lead, lambda row: board_move(row, row.status_id), own_work),
    "appointments_appointment_move": (Appointment, lambda row: board_move(row, row.outcome_id), own_work),
    "appointments_appointment_times": (
        Appointment,
        lambda row: {"organization": row.organization_id, "appointment": row.pk, "field": "schedule_time"},
        NOBODY,  # it changes nothing
    ),
}
# The model and the action on selected rows: who may do it with a row.
ACTIONS: dict[tuple[str, str], Rule] = {
    ("appointments.appointment", "cancel_selected"): own_work,
    ("appointments.appointment", "set_outcome_selected"): own_work,
    ("appointments.appointment", "set_setter_selected"): own_work,
    ("appointments.appointment", "set_host_selected"): own_work,
    ("leads.lead", "set_status_selected"): own_work,
    ("leads.lead", "set_setter_selected"): own_work,
    ("leads.possibleduplicate", "dismiss_selected"): own_work,
    ("webhooks.delivery", "replay_selected"): BACK_OFFICE,
}
# Pages that belong to no model: everybody who is signed in may open them, about themselves or what they may see.
FOR_EVERYBODY = {
    *("reports", "reports_csv", "updates"),  # numbers of the organizations whose appointments they see
    *(
        "index",
        "search",
        "autocomplete",
        "jsi18n",
        "app_list",
        "own_notifications",
        "verify_address",
        "sessions",
        "time_zone",
        "token",
        "two_factor",
        "updates",
    ),
    *("login", "logout", "second_factor", "invitation"),
    *("password_change", "password_change_done", "admin_password_reset", "password_reset_done"),
    "admin_password_reset_confirm",
}
FOR_OPERATORS = {"growth"}  # tests/staff/test_growth.py says that members don't see it


def board_move(row: Any, seen: Any) -> dict[str, Any]:
    """Return what a board sends to move a card to another column."""
    status = Status.objects.of(row.organization).get(role=StatusRole.WON)
    return {"card": f"{row.pk}:{seen}", f"to-{row.pk}": str(status.pk), **CONFIRMED}


CONFIRMED = {"post": "yes", "confirmed": "yes"}
# A row of these models belongs to somebody, or to nobody.
ASSIGNED = {Lead: (MINE, FREE, THEIRS), Appointment: (MINE, FREE, THEIRS), CallAnalysis: (MINE, FREE, THEIRS)}
PERSONAL = {Membership: (MINE, THEIRS), User: (MINE, THEIRS)}


class World:
    """An organization with rows of every kind, and a member of one role."""

    def __init__(self, organization: Organization, role: str) -> None:
        self.organization, self.role = organization, role
        create_sample_data(organization, "theirs")
        create_replays(organization)
        member_organization = make_organization("Globex") if role == OUTSIDER else organization
        member_role = OWNER if role == OUTSIDER else role
        # Nobody can name a viewer as host: the member becomes one afterwards.
        first_role = CLOSER if role == VIEWER else member_role
        self.member = make_member(member_organization, "somebody@acme.example", role=first_role)
        self.colleague = Membership.objects.of(organization).get(user__email="theirs@members.example")
        api = make_api(organization)
        for whose, host in ((MINE, "somebody@acme.example"), (FREE, None)):
            if whose == MINE and role == OUTSIDER:
                host = "theirs@members.example"
            reference = whose[:4]
            id = api.book(
                external_reference=reference, lead_email=f"{reference}@leads.example", host_email=host
            ).json()["data"]["id"]
            make_analysis(organization, id)
        Membership.objects.of(member_organization).filter(pk=self.member.pk).update(role=member_role)
        self.member.role = member_role

    def send(self, method: str, url: str, data: dict[str, Any] | None = None, **headers: str) -> int:
        """Return the status of the view's response, as the member; 404 also for the page "doesn't exist".

        The view is called without middleware, and a template isn't rendered: that is most of a page's time.
        """
        request: Any = getattr(RequestFactory(), method)(url, data or {}, headers=headers)
        request.user, request.session = User.objects.get(pk=self.member.user_id), SessionStore()
        request._messages, request._dont_enforce_csrf_checks = CookieStorage(request), True
        request.resolver_match = match = resolve(urlsplit(url).path)
        try:
            response = match.func(request, *match.args, **match.kwargs)
        except PermissionDenied:
            return 403
        except Http404:
            return 404
        for close in response._resource_closers:  # a streamed file; `close()` would also close the connection
            close()
        is_missing = any("exist. Perhaps it was deleted" in str(message) for message in request._messages)
        return 404 if is_missing else int(response.status_code)

    def row(self, model: Any, whose: str) -> Any:
        """Return such a row of the model."""
        emails = {MINE: "mine@leads.example", FREE: "unas@leads.example", THEIRS: "theirs@leads.example"}
        paths = {Lead: "email", Appointment: "lead__email", CallAnalysis: "appointment__lead__email"}
        if model in paths:
            return model.objects.of(self.organization).get(**{paths[model]: emails[whose]})
        person = self.member if whose == MINE else self.colleague
        if model in PERSONAL:
            return person if model is Membership else person.user
        if model is Organization:
            return self.organization
        if model is SecurityEvent:
            return SecurityEvent.objects.filter(organization=self.organization).first()
        return model.objects.of(self.organization).order_by("pk").last()


@pytest.fixture(scope="module", params=[*MemberRole.values, OUTSIDER])
def shared_world(
    request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[World]:
    """Create the world of each role once for the tests of this file."""
    with shared_rows(django_db_blocker):
        world = World(make_organization("Acme"), request.param)
        clear_caches()
        with django_db_blocker.block():
            yield world


@pytest.fixture
def world(shared_world: World, db: None, settings: Any) -> World:
    settings.ADMIN_REQUESTS_PER_MINUTE = 10**9
    return shared_world


def rules_of(route: Route) -> tuple[Rule, Rule]:
    """Return who may open the route and who may send its form. Raises KeyError if no table has it."""
    page = route.model_admin
    assert page is not None
    prefix = f"{page.opts.app_label}_{page.opts.model_name}_"
    view, add, change, delete = ROWS[page.opts.label_lower]
    if page.opts.label_lower in PERSONAL_LISTS and route.name == f"{prefix}changelist":
        view = EVERYBODY
    standard = {
        f"{prefix}changelist": (view, view),
        f"{prefix}history": (view, view),
        f"{prefix}add": (add, add),
        f"{prefix}change": (view, change),
        f"{prefix}delete": (delete, delete),
    }
    return standard.get(str(route.name)) or PAGES[str(route.name)]


MODEL_ROUTES = [route for route in ADMIN_ROUTES if route.model_admin and route.name and route.name not in SENT_ROWS]


def requests_of(route: Route, world: World) -> Iterator[tuple[str, str]]:
    """Yield the route's URLs, each with whose row it is about."""
    page = route.model_admin
    assert page is not None
    if "object_id" not in route.arguments:
        if world.role != OUTSIDER:  # who sees the lists of the other organization
            yield route.build_url({}), THEIRS
        return
    for whose in (ASSIGNED | PERSONAL).get(page.model, (THEIRS,)):
        if (page.model in PERSONAL and whose == MINE) and world.role == OUTSIDER:
            continue
        yield route.build_url({"object_id": str(world.row(page.model, whose).pk)}), whose


REFUSALS = (403, 404)


def test_every_page_and_action_has_a_line() -> None:
    names = {str(route.name) for route in ADMIN_ROUTES if route.name}
    listed = {str(route.name) for route in MODEL_ROUTES if rules_of(route)}
    actions = {(page.opts.label_lower, name) for page in MODEL_ADMINS for _, name, *_ in page._get_base_actions()}
    actions = {(label, name) for label, name in actions if name != "delete_selected"}  # which `ServiceAdmin` removes

    assert names - listed - set(SENT_ROWS) == FOR_EVERYBODY | FOR_OPERATORS
    assert set(SENT_ROWS) <= names
    assert set(PAGES) <= names
    assert set(ROWS) == {page.opts.label_lower for page in MODEL_ADMINS}
    assert actions == set(ACTIONS)


def test_each_role_may_do_what_the_tables_say_and_nothing_else(world: World) -> None:
    before, problems = snapshot_of(world.organization), []
    for route in MODEL_ROUTES:
        may_open, may_send = rules_of(route)
        for url, whose in requests_of(route, world):
            opened = world.send("get", url)
            if (opened in REFUSALS) is may_open(world.role, whose):
                problems.append(f"GET {route.name}, {whose}: {opened}")
            is_allowed = may_send(world.role, whose)
            with rolled_back() as writes:
                sent = world.send("post", url, CONFIRMED)
                if not is_allowed and writes and snapshot_of(world.organization) != before:
                    problems.append(f"POST {route.name}, {whose} changed rows")
            if (sent in REFUSALS) is is_allowed:
                problems.append(f"POST {route.name}, {whose}: {sent}")

    assert problems == []


def test_forms_that_name_a_row_reach_only_rows_that_may_be_changed(world: World) -> None:
    problems = []
    for name, (model, data, rule) in SENT_ROWS.items():
        for whose in ASSIGNED[model]:
            row = world.row(model, whose)
            before = stored_values(row)
            with rolled_back():
                world.send("post", reverse(f"admin:{name}"), data(row), accept="application/json")
                is_changed = stored_values(row) != before
            if is_changed is not rule(world.role, whose):
                problems.append(f"{name}, {whose}: {'' if is_changed else 'not '}changed")

    assert problems == []


@pytest.mark.parametrize("shared_world", [SALES_OPS, CLOSER, VIEWER], indirect=True)
@pytest.mark.parametrize("model", [Lead, Appointment])
def test_a_page_shows_only_buttons_that_work(world: World, model: Any) -> None:
    client, problems = logged_in_client(world.member), []
    for whose in ASSIGNED[model]:
        row = world.row(model, whose)
        text = client.get(admin_url(model, "change", row.pk)).content.decode()
        for route in MODEL_ROUTES:
            page = route.model_admin
            if page is None or page.model is not model or "object_id" not in route.arguments:
                continue
            is_shown = f'"{route.build_url({"object_id": str(row.pk)})}"' in text
            if is_shown and not rules_of(route)[0](world.role, whose):
                problems.append(f"{whose}: {route.name}")
        if ('name="_save"' in text) is not own_work(world.role, whose):
            problems.append(f"{whose}: Save")

    assert problems == []


def test_actions_on_selected_rows_reach_only_rows_that_may_be_changed(world: World) -> None:
    problems = []
    won = Status.objects.of(world.organization).get(role=StatusRole.WON)
    somebody = make_member(world.organization, "new@acme.example")
    values = {name: won if "status" in name or "outcome" in name else somebody for _, name in ACTIONS}
    for (label, name), rule in ACTIONS.items():
        page = next(page for page in MODEL_ADMINS if page.opts.label_lower == label)
        rows = {whose: world.row(page.model, whose) for whose in ASSIGNED.get(page.model, (THEIRS,))}
        before = {whose: stored_values(row) for whose, row in rows.items()}
        with rolled_back():
            selected = [str(row.pk) for row in rows.values()]
            data = {"action": name, "_selected_action": selected, "value": str(values[name].pk), **CONFIRMED}
            world.send("post", admin_url(page.model, "changelist"), data)
            changed = {whose for whose, row in rows.items() if stored_values(row) != before[whose]}
        allowed = {whose for whose in rows if rule(world.role, whose)}
        if changed - allowed or (page.model in ASSIGNED and changed != allowed):
            problems.append(f"{label} {name} changed {changed}")

    assert problems == []


def stored_values(row: Any) -> dict[str, Any]:
    """Return the row's columns as they are stored."""
    return dict(type(row).objects.of(row.organization).filter(pk=row.pk).values().get())
