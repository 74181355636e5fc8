"""Services for saved views. Each locks the organization, so that names stay unique and limits hold."""

from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from foundation.api.exceptions import Conflict
from organizations.models import Membership, Organization, SavedView
from organizations.services import can_add_row, lock_organization

MAX_VIEWS = 50  # of a member, and of an organization's shared ones
MAX_QUERY = 2_000  # characters


@transaction.atomic
def save_view(
    *, organization: Organization, owner: Membership | None, page: str, name: str, query: str, replace: bool = False
) -> SavedView:
    """Add a view, shared without an owner; `replace` overwrites. Raises Conflict for a taken name or a limit.

    One without a name has the owner's columns of the page, and doesn't count.
    """
    check_query(query)
    views = SavedView.objects.of(organization).filter(owner=owner)
    rows = views.exclude(name="")
    may_add = can_add_row(organization=organization, rows=rows, limit=MAX_VIEWS) or not name
    view: SavedView | None = views.filter(page=page, name=name).first()
    if view and not replace:
        raise Conflict(f"There is a view “{name}” already. Choose another name, or replace it.")
    if view is None and not may_add:
        whose = "You have" if owner else "The organization shares"
        raise Conflict(f"{whose} {MAX_VIEWS} views already. Delete one first.")
    view = view or SavedView(organization=organization, owner=owner, page=page, name=name)
    view.query = query
    view.save()
    return view


@transaction.atomic
def change_view(
    *, organization: Organization, view_id: UUID, version: str = "", name: str = "", query: str = ""
) -> None:
    """Give a view another name or query. Locks the organization.

    Raises Conflict if the name is taken, or the view gone or no longer of this version.
    """
    check_query(query)
    views: QuerySet[SavedView] = SavedView.objects.of(organization)
    lock_organization(organization)
    view = get_view(views, view_id, version)
    view.name, view.query = name or view.name, query or view.query
    same = views.filter(owner=view.owner_id, page=view.page, name=view.name)
    if same.exclude(pk=view.pk).exists():
        raise Conflict(f"There is a view “{name}” already. Choose another name.")
    view.save(update_fields=["name", "query"])


@transaction.atomic
def delete_view(*, organization: Organization, view_id: UUID, version: str = "") -> None:
    """Locks the organization. Raises Conflict if the view is gone or no longer of this version."""
    lock_organization(organization)
    get_view(SavedView.objects.of(organization), view_id, version).delete()


def get_view(views: QuerySet[SavedView], id: UUID, version: str) -> SavedView:
    view = views.filter(pk=id).first()
    if view is None:
        raise Conflict("Someone has deleted this view.")
    if version and version != view.version:
        raise Conflict(f"Someone has changed the view “{view.name}” since you opened the list. Open it again first.")
    return view


def check_query(query: str) -> None:
    if len(query) > MAX_QUERY:
        raise Conflict(f"The address of this list has more than {MAX_QUERY:,} characters. Choose fewer filters.")
