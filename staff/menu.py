"""The menu, and the text under the site's name."""

from functools import lru_cache
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.utils import quote
from django.http import HttpRequest
from django.urls import reverse

from organizations.models import Organization
from organizations.permissions import current_user, is_operator, roles_by_organization

# Groups of links to lists: title, icon and model. People see those whose list they may see.
MENU = {
    "Pipeline": [
        ("Appointments", "event", "appointments.appointment"),
        ("Leads", "person", "leads.lead"),
        ("Duplicates", "compare", "leads.possibleduplicate"),
        ("Opt-ins", "input", "optins.optin"),
        ("Notes", "edit_note", "leads.leadnote"),
        ("Call analyses", "insights", "appointments.callanalysis"),
    ],
    "Setup": [
        ("Statuses", "label", "statuses.status"),
        ("Event types", "category", "appointments.eventtype"),
        ("Messages to leads", "forward_to_inbox", "notifications.leadmessage"),
        ("Custom fields", "tune", "leads.customfield"),
        ("Sources", "conversion_path", "leads.source"),
        ("Imports", "file_upload", "leads.import"),
    ],
    "Connections": [
        ("API keys", "key", "organizations.apikey"),
        ("Webhook endpoints", "webhook", "webhooks.endpoint"),
        ("Events", "bolt", "webhooks.event"),
        ("Deliveries", "local_shipping", "webhooks.delivery"),
    ],
    "Team": [
        ("Members", "group", "organizations.membership"),
        ("Invitations", "person_add", "organizations.invitation"),
        ("Notifications", "notifications", "notifications.notification"),
        ("Organization", "apartment", "organizations.organization"),
        ("All users", "badge", "organizations.user"),
    ],
}

# What Unfold's templates ask of each group and item. A missing key costs Django's templates much more than a false one.
UNUSED: dict[str, object] = {"badge": None, "collapsible": False, "link_callback": None}


def menu(request: HttpRequest) -> list[dict[str, object]]:
    groups = [menu_group("", [menu_item("Home", "home", "index")])]
    for title, entries in MENU.items():
        items = [
            menu_item(name, icon, f"{model.replace('.', '_')}_changelist")
            for name, icon, model in entries
            if admin.site.get_model_admin(apps.get_model(model)).has_module_permission(request)
        ]
        if items and title == "Pipeline":
            items.append(menu_item("Reports", "functions", "reports"))
        if items:
            groups.append(menu_group(title, items))
    if is_operator(request):
        groups.append(menu_group("Installation", [menu_item("What grows", "dataset", "growth")]))
    return [*groups, menu_group("Your account", account_items(request))]


def account_items(request: HttpRequest) -> list[dict[str, object]]:
    user = current_user(request)
    items = [
        menu_item("My account", "account_circle", "organizations_user_change", quote(user.pk)),
        menu_item("Sessions", "devices", "sessions"),
        menu_item("Two-factor sign-in", "phonelink_lock", "two_factor"),
        menu_item("Security log", "shield", "organizations_securityevent_changelist"),
    ]
    # Notification settings belong to a membership; an operator may have none.
    if roles_by_organization(request):
        items.insert(1, menu_item("My e-mail notifications", "mail", "own_notifications"))
    return items


def menu_group(title: str, items: list[dict[str, object]]) -> dict[str, object]:
    return {"title": title, "separator": bool(title), "items": items} | UNUSED


def menu_item(title: str, icon: str, view: str, *args: str) -> dict[str, object]:
    return {"title": title, "icon": icon, "link": page_url(view, *args)} | UNUSED


@lru_cache(maxsize=1_000)
def page_url(view: str, *args: str) -> str:
    return reverse(f"admin:{view}", args=args)


def subheader(request: HttpRequest) -> str:
    if not request.user.is_authenticated:
        return ""
    rows: Any = Organization.objects.all()[:2] if is_operator(request) else current_user(request).active_memberships
    names = [f"{row.name} (test organization)" if row.is_test else row.name for row in rows]
    return names[0] if len(names) == 1 else "Several organizations"
