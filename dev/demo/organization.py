"""The demo's two organizations: members, event types and custom fields."""

from typing import Any, NamedTuple

from accounts.onboarding import create_organization
from appointments.models import CallCategory, EventType, Provider
from appointments.services import save_event_type
from leads.models import CustomField
from leads.services import save_custom_field
from organizations.actors import SYSTEM
from organizations.models import MemberRole, Organization, User
from organizations.services import add_member


class OrganizationSpec(NamedTuple):
    """An organization to create, and its members, the owner first: first and last name, role and time zone."""

    name: str
    domain: str
    members: list[tuple[str, str, MemberRole, str]]

    def email(self, position: int = 0) -> str:
        """Return the e-mail address of a member. The owner's identifies the organization in later runs."""
        return "{}.{}@{}".format(*self.members[position][:2], self.domain).lower()


NORTHWIND = OrganizationSpec(
    "Northwind Coaching",
    "northwind.example",
    [
        ("Olivia", "Hart", MemberRole.OWNER, "America/New_York"),
        ("Marcus", "Lee", MemberRole.MANAGER, "America/Chicago"),
        ("Sofia", "Ramirez", MemberRole.SALES_OPS, "Europe/Madrid"),
        ("Daniel", "Okoro", MemberRole.CLOSER, "Europe/London"),
        ("Hannah", "Weiss", MemberRole.CLOSER, "Europe/Berlin"),
        ("Priya", "Nair", MemberRole.CLOSER, "Asia/Kolkata"),
        ("Tom", "Becker", MemberRole.SETTER, "America/Los_Angeles"),
        ("Grace", "Kim", MemberRole.SETTER, "Asia/Seoul"),
        ("Victor", "Moreau", MemberRole.VIEWER, "Europe/Paris"),
    ],
)
HARBOR = OrganizationSpec(
    "Harbor Fitness",
    "harbor.example",
    [("Nina", "Castle", MemberRole.OWNER, "Australia/Sydney"), ("Ben", "Ford", MemberRole.CLOSER, "Australia/Perth")],
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
# Entity, key, label, type and sample values. The values of a choice field are its options.
LEAD, APPOINTMENT = CustomField.Entity.LEAD, CustomField.Entity.APPOINTMENT
CUSTOM_FIELDS: list[tuple[CustomField.Entity, str, str, CustomField.Type, list[Any]]] = [
    (LEAD, "company", "Company", CustomField.Type.TEXT, ["Blue Door Studio", "Kite & Sons", "Oak Row Therapy"]),
    (LEAD, "monthly_revenue", "Monthly revenue (USD)", CustomField.Type.NUMBER, [3500, 14500.5, 32000, 75000]),
    (LEAD, "wants_newsletter", "Wants the newsletter", CustomField.Type.BOOLEAN, [True, False]),
    (LEAD, "wants_to_start_on", "Wants to start on", CustomField.Type.DATE, ["2027-01-01", "2027-04-01", "2027-07-01"]),
    (LEAD, "program", "Program", CustomField.Type.SELECT, ["Starter", "Growth", "Executive"]),
    (APPOINTMENT, "goal", "Goal of the call", CustomField.Type.TEXT, ["Find out whether we fit", "Agree on a plan"]),
    (APPOINTMENT, "deal_value", "Deal value (USD)", CustomField.Type.NUMBER, [1500, 4800, 9600, 18000]),
    (APPOINTMENT, "has_questionnaire", "Sent the questionnaire", CustomField.Type.BOOLEAN, [True, False]),
    (APPOINTMENT, "contract_until", "Contract wanted until", CustomField.Type.DATE, ["2027-01-15", "2027-05-15"]),
    (APPOINTMENT, "package", "Package", CustomField.Type.SELECT, ["Single session", "Three months", "A year"]),
]


def find_organization(spec: OrganizationSpec) -> Organization | None:
    """Return the organization that an earlier run created, even if it was renamed, or None."""
    owner = User.objects.filter(email=spec.email()).first()
    first = owner and owner.memberships.select_related("organization").order_by("created_at", "id").first()
    return first.organization if first else None


def set_up_organization(spec: OrganizationSpec) -> Organization:
    """Create the organization. Members who have no user account get one without a password."""
    users = []
    for position, (first_name, last_name, _, time_zone) in enumerate(spec.members):
        email, names = spec.email(position), {"first_name": first_name, "last_name": last_name}
        existing = User.objects.with_email(email).first()
        users.append(existing or User.objects.create_user(email, time_zone=time_zone, **names))
    organization = create_organization(name=spec.name, owner=users[0])
    for user, (_, _, role, _) in list(zip(users, spec.members, strict=True))[1:]:
        add_member(organization=organization, user=user, role=role)
    for name, category, provider, owner_name in EVENT_TYPES:
        event_type = EventType(name=name, call_category=category, provider=provider, owner_name=owner_name)
        save_event_type(organization=organization, actor=SYSTEM, event_type=event_type)
    for position, (entity, key, label, type, values) in enumerate(CUSTOM_FIELDS):
        options = values if type == CustomField.Type.SELECT else []
        field = CustomField(entity=entity, key=key, label=label, type=type, options=options, position=position)
        save_custom_field(organization=organization, actor=SYSTEM, field=field)
    return organization
