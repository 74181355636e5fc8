"""The demo's organizations: their members, their types of calls, and what else they note."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from appointments.models import CallCategory, EventType, Provider
from appointments.services import save_event_type
from leads.models import CustomField
from leads.services import save_custom_field
from organizations.models import ApiKey, Membership, Organization, Role, User
from organizations.services import add_member, change_member
from pipeline_backend.onboarding import create_organization
from statuses.models import Board, Status
from statuses.models import Role as StatusRole
from statuses.services import default_statuses


@dataclass(frozen=True)
class OrganizationSpec:
    """An organization to open: its name, the domain of its e-mails, and its team (the owner first)."""

    name: str
    domain: str
    team: list[tuple[str, str, Role, str]]

    @property
    def owner_email(self) -> str:
        """By this the demo knows its organization again, whatever it is called by then."""
        return self.email(*self.team[0][:2])

    def email(self, first_name: str, last_name: str) -> str:
        """A member's address."""
        return f"{first_name}.{last_name}@{self.domain}".lower()


NORTHWIND = OrganizationSpec(
    "Northwind Coaching",
    "northwind.example",
    [
        ("Olivia", "Hart", Role.OWNER, "America/New_York"),
        ("Marcus", "Lee", Role.MANAGER, "America/Chicago"),
        ("Sofia", "Ramirez", Role.SALES_OPS, "Europe/Madrid"),
        ("Daniel", "Okoro", Role.CLOSER, "Europe/London"),
        ("Hannah", "Weiss", Role.CLOSER, "Europe/Berlin"),
        ("Priya", "Nair", Role.CLOSER, "Asia/Kolkata"),
        ("Tom", "Becker", Role.SETTER, "America/Los_Angeles"),
        ("Grace", "Kim", Role.SETTER, "Asia/Seoul"),
    ],
)
HARBOR = OrganizationSpec(
    "Harbor Fitness",
    "harbor.example",
    [("Nina", "Castle", Role.OWNER, "Australia/Sydney"), ("Ben", "Ford", Role.CLOSER, "Australia/Perth")],
)

# Name, category, provider, owner at the provider. Without a provider: made by this interface.
EVENT_TYPES = [
    ("Strategy call", CallCategory.SALES_CALL, None, None),
    ("Onboarding call", CallCategory.COACHING_CALL, None, None),
    ("Discovery call", CallCategory.SALES_CALL, Provider.SCHEDULER_A, "Daniel Okoro"),
    ("Triage call", CallCategory.TRIAGE_CALL, Provider.SCHEDULER_B, "Setter team"),
    ("Coaching session", CallCategory.COACHING_CALL, Provider.SCHEDULER_C, "Priya Nair"),
    ("Second sales call", CallCategory.SALES_CALL, Provider.SCHEDULER_C, "Hannah Weiss"),
]
# Key, label, type, and some values; a choice's values are its options.
CUSTOM_FIELDS: dict[CustomField.Entity, list[tuple[str, str, CustomField.Type, list[Any]]]] = {
    CustomField.Entity.LEAD: [
        (
            "company",
            "Company",
            CustomField.Type.TEXT,
            ["Blue Door Studio", "Kite & Sons", "Lumen Agency", "Oak Row Therapy", "Self-employed"],
        ),
        ("monthly_revenue", "Monthly revenue (USD)", CustomField.Type.NUMBER, [3500, 8000, 14500.5, 32000, 75000]),
        ("wants_newsletter", "Wants the newsletter", CustomField.Type.BOOLEAN, [True, False]),
        (
            "wants_to_start_on",
            "Wants to start on",
            CustomField.Type.DATE,
            [str(date(2027, month, 1)) for month in (1, 2, 4, 7)],
        ),
        ("program", "Program", CustomField.Type.SELECT, ["Starter", "Growth", "Executive"]),
    ],
    CustomField.Entity.APPOINTMENT: [
        (
            "goal",
            "Goal of the call",
            CustomField.Type.TEXT,
            ["Find out whether we fit", "Agree on a plan", "Talk about the price", "Meet the partner"],
        ),
        ("deal_value", "Deal value (USD)", CustomField.Type.NUMBER, [1500, 4800, 9600, 18000]),
        ("has_questionnaire", "Sent the questionnaire back", CustomField.Type.BOOLEAN, [True, False]),
        (
            "contract_until",
            "Contract wanted until",
            CustomField.Type.DATE,
            [str(date(2027, month, 15)) for month in (1, 3, 5)],
        ),
        ("package", "Package", CustomField.Type.SELECT, ["Single session", "Three months", "A year"]),
    ],
}


@dataclass(frozen=True)
class DemoOrganization:
    """An organization, with everything that its stories need at hand."""

    organization: Organization
    members: list[Membership]
    event_types: list[EventType]
    fields: list[CustomField]
    statuses: dict[str, Status]
    key: ApiKey | None

    def team(self, role: str) -> list[Membership]:
        """The active members of this role; anyone who is active, if none has it."""
        active = [member for member in self.members if member.is_active]
        return [member for member in active if member.role == role] or active

    def types_of(self, provider: str | None) -> list[EventType]:
        """What can be booked there; anything, if nothing is meant for it."""
        return [one for one in self.event_types if one.provider == provider] or self.event_types

    def fields_of(self, entity: CustomField.Entity) -> list[CustomField]:
        """The custom fields of leads or of appointments."""
        return [field for field in self.fields if field.entity == entity]


def find_organization(firm: OrganizationSpec) -> Organization | None:
    """The organization that an earlier run has opened."""
    owner = User.objects.filter(email=firm.owner_email).first()
    first = owner.memberships.select_related("organization").order_by("created_at", "id").first() if owner else None
    return first.organization if first else None


def set_up_organization(firm: OrganizationSpec) -> Organization:
    """Open it with its team, types of calls and custom fields."""
    people = [(get_or_create_user(firm, first, last, zone), role) for first, last, role, zone in firm.team]
    organization = create_organization(name=firm.name, owner_email=firm.owner_email).organization
    for user, role in people[1:]:
        add_member(organization=organization, user=user, role=role)
    for name, category, provider, owner in EVENT_TYPES:
        save_event_type(
            organization=organization,
            event_type=EventType(name=name, call_category=category, provider=provider, owner_name=owner),
        )
    for field in build_custom_fields():
        save_custom_field(organization=organization, field=field)
    return organization


def get_or_create_user(firm: OrganizationSpec, first_name: str, last_name: str, time_zone: str) -> User:
    """A member's account, without a password."""
    email = firm.email(first_name, last_name)
    known = User.objects.filter(email__iexact=email).first()
    return known or User.objects.create_user(email, first_name=first_name, last_name=last_name, time_zone=time_zone)


def build_custom_fields() -> list[CustomField]:
    """One custom field of each type, for leads and for appointments."""
    return [
        CustomField(
            entity=entity,
            key=key,
            label=label,
            type=kind,
            options=values if kind == CustomField.Type.SELECT else [],
            position=position,
        )
        for entity, columns in CUSTOM_FIELDS.items()
        for position, (key, label, kind, values) in enumerate(columns)
    ]


def load_organization(organization: Organization, key: ApiKey | None = None) -> DemoOrganization:
    """The organization as it is now."""
    found = default_statuses(organization, *((Board.APPOINTMENT, role) for role in StatusRole))
    return DemoOrganization(
        organization=organization,
        members=list(Membership.objects.of(organization).select_related("user").order_by("user__email")),
        event_types=list(EventType.objects.of(organization).order_by("name")),
        fields=list(CustomField.objects.of(organization).order_by("entity", "position")),
        statuses={role.value: status for (_, role), status in found.items()},
        key=key,
    )


def set_mail_enabled(organization: Organization, *, wanted: bool) -> None:
    """Switch all members' notifications on or off: the past is not told to them again."""
    for member in Membership.objects.of(organization):
        change_member(member=member, role=member.role, is_active=member.is_active, wants_mail=wanted)
