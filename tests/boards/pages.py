"""Reads a board, and moves its cards as the script and as the form do."""

from typing import Any

from django.db.models import Model
from django.test import Client

from leads.models import Lead
from organizations.isolation import TenantModel
from organizations.models import Organization
from statuses.models import Status
from tests.staff.pages import admin_url

JSON = {"Accept": "application/json"}


def open_board(client: Client, model: type[Model], query: str = "") -> Any:
    """Return the response with the board."""
    response = client.get(f"{admin_url(model, 'changelist')}?layout=board&{query}", follow=True)
    assert response.status_code == 200, response.headers
    return response


def columns_of(response: Any) -> dict[str, list[str]]:
    """Return the names of the cards by column, without empty columns."""
    board = response.context["board"]
    return {column.name: [card.title for card in column.cards] for column in board if column.cards}


def status_named(organization: Organization, name: str) -> Status:
    """Return the organization's status with this name."""
    return Status.objects.of(organization).get(name=name)


def move_data(row: TenantModel, seen: Status | None, to: Status | str, query: str = "") -> dict[str, str]:
    """Return what the card's form sends."""
    target = to if isinstance(to, str) else str(to.pk)
    return {"card": f"{row.pk}:{seen.pk if seen else ''}", f"to-{row.pk}": target, "query": query}


def move(client: Client, row: TenantModel, seen: Status | None, to: Status | str, **headers: str) -> Any:
    """Return the response to the script's request."""
    return client.post(admin_url(type(row), "move"), move_data(row, seen, to), headers=headers or JSON)


def lead_named(organization: Organization, name: str) -> Lead:
    """Return the organization's lead with this first name."""
    return Lead.objects.of(organization).get(first_name=name)
