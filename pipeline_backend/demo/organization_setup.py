"""The demo's two organizations: members, event types and custom fields."""

from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

from appointments.models import CallCategory, EventType, Provider
from appointments.services import save_event_type
from leads.models import CustomField
from leads.services import save_custom_field
from organizations.models import ApiKey, MemberRole, Membership, Organization, User
from organizations.services import add_member, change_member
from pipeline_backend.onboarding import create_organization
from statuses.models import Board, Status, StatusRole
from statuses.services import default_statuses


class MemberSpec(NamedTuple):
    """A member to create."""

    first_name: str
    last_name: str
    role: MemberRole
    time_zone: str


@dataclass(frozen=True)
class OrganizationSpec:
    """An organization to create: its name, the domain of its e-mails, and its members, the owner first."""

    name: str
    domain: str
    members: list[MemberSpec]

    @property
    def owner_email(self) -> str:
        """The e-mail that identifies the organization in later runs, even after it was renamed."""
        return self.email(self.members[0])

    def email(self, member: MemberSpec) -> str:
        """Return a member's e-mail address, at the domain of the organization."""
        return f"{member.first_name}.{member.last_name}@{self.domain}".lower()


NORTHWIND = OrganizationSpec(
    "Northwind Coaching",
    "northwind.example",
    [
        MemberSpec("Olivia", "Hart", MemberRole.OWNER, "America/New_York"),
        MemberSpec("Marcus", "Lee", MemberRole.MANAGER, "America/Chicago"),
        MemberSpec("Sofia", "Ramirez", MemberRole.SALES_OPS, "Europe/Madrid"),
        MemberSpec("Daniel", "Okoro", MemberRole.CLOSER, "Europe/London"),
        MemberSpec("Hannah", "Weiss", MemberRole.CLOSER, "Europe/Berlin"),
        MemberSpec("Priya", "Nair", MemberRole.CLOSER, "Asia/Kolkata"),
        MemberSpec("Tom", "Becker", MemberRole.SETTER, "America/Los_Angeles"),
        MemberSpec("Grace", "Kim", MemberRole.SETTER, "Asia/Seoul"),
    ],
)
HARBOR = OrganizationSpec(
    "Harbor Fitness",
    "harbor.example",
    [
        MemberSpec("Nina", "Castle", MemberRole.OWNER, "Australia/Sydney"),
        MemberSpec("Ben", "Ford", MemberRole.CLOSER, "Australia/Perth"),
    ],
)

# Name, category, provider, owner at the provider. Those without a provider are for bookings through the API.
EVENT_TYPES = [
    ("Strategy call", CallCategory.SALES_CALL, None, None),
    ("Onboarding call", CallCategory.COACHING_CALL, None, None),
    ("Discovery call", CallCategory.SALES_CALL, Provider.SCHEDULER_A, "Daniel Okoro"),
    ("Triage call", CallCategory.TRIAGE_CALL, Provider.SCHEDULER_B, "Setter team"),
    ("Coaching session", CallCategory.COACHING_CALL, Provider.SCHEDULER_C, "Priya Nair"),
    ("Second sales call", CallCategory.SALES_CALL, Provider.SCHEDULER_C, "Hannah Weiss"),
]
# Key, label, type and sample values. The values of a choice field are its options.
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
class OrganizationData:
    """An organization with the rows that a scenario refers to."""

    organization: Organization
    members: list[Membership]
    event_types: list[EventType]
    custom_fields: list[CustomField]
    statuses: dict[str, Status]  # the default statuses for appointments, by role
    api_key: ApiKey | None

    def members_with_role(self, role: str) -> list[Membership]:
        """Return the active members with this role, or all active members if none has it."""
        active = [member for member in self.members if member.is_active]
        return [member for member in active if member.role == role] or active

    def event_types_of(self, provider: str | None) -> list[EventType]:
        """Return the provider's event types (None: those of the API), or all if it has none."""
        return [event_type for event_type in self.event_types if event_type.provider == provider] or self.event_types

    def custom_fields_of(self, entity: CustomField.Entity) -> list[CustomField]:
        """Return the custom fields of leads or of appointments."""
        return [field for field in self.custom_fields if field.entity == entity]


def find_organization(spec: OrganizationSpec) -> Organization | None:
    """Return the organization that an earlier run created, or None."""
    owner = User.objects.filter(email=spec.owner_email).first()
    if owner is None:
        return None
    first = owner.memberships.select_related("organization").order_by("created_at", "id").first()
    return first.organization if first else None


def set_up_organization(spec: OrganizationSpec) -> Organization:
    """Create the organization with its members, event types and custom fields."""
    users = [get_or_create_user(spec, member) for member in spec.members]
    organization = create_organization(name=spec.name, owner=users[0])
    for user, member in list(zip(users, spec.members, strict=True))[1:]:  # the owner has been added already
        add_member(organization=organization, user=user, role=member.role)
    for name, category, provider, owner in EVENT_TYPES:
        save_event_type(
            organization=organization,
            event_type=EventType(name=name, call_category=category, provider=provider, owner_name=owner),
        )
    for field in build_custom_fields():
        save_custom_field(organization=organization, field=field)
    return organization


def get_or_create_user(spec: OrganizationSpec, member: MemberSpec) -> User:
    """Return the member's user account, created without a password if there is none."""
    email = spec.email(member)
    return User.objects.with_email(email).first() or User.objects.create_user(
        email, first_name=member.first_name, last_name=member.last_name, time_zone=member.time_zone
    )


def build_custom_fields() -> list[CustomField]:
    """Return one custom field of each type for leads and for appointments, unsaved."""
    return [
        CustomField(
            entity=entity,
            key=key,
            label=label,
            type=type,
            options=values if type == CustomField.Type.SELECT else [],
            position=position,
        )
        for entity, fields in CUSTOM_FIELDS.items()
        for position, (key, label, type, values) in enumerate(fields)
    ]


def load_organization(organization: Organization, api_key: ApiKey | None = None) -> OrganizationData:
    """Return the organization's rows as they are stored now."""
    statuses = default_statuses(organization, *((Board.APPOINTMENT, role) for role in StatusRole))
    return OrganizationData(
        organization=organization,
        members=list(Membership.objects.of(organization).select_related("user").order_by("user__email")),
        event_types=list(EventType.objects.of(organization).order_by("name")),
        custom_fields=list(CustomField.objects.of(organization).order_by("entity", "position")),
        statuses={role.value: status for (_, role), status in statuses.items()},
        api_key=api_key,
    )


def set_mail_enabled(organization: Organization, *, enabled: bool) -> None:
    """Switch the e-mail notifications of all members on or off."""
    for member in Membership.objects.of(organization):
        change_member(member=member, role=member.role, is_active=member.is_active, wants_mail=enabled)
