"""Members of organizations, invitations to become one, and saved views of the admin's lists."""

from datetime import timedelta
from hashlib import sha256
from typing import Any, ClassVar, Self

from django.db import models
from django.db.models import Q, UniqueConstraint, Value
from django.db.models.functions import Coalesce, Concat, Lower, Now, NullIf, Trim

from foundation.db.timestamps import MillisecondDateTimeField, get_zone, now
from foundation.outbox import Job, State
from organizations.isolation import TenantForeignKey, TenantModel, TenantQuerySet, tenant_manager
from organizations.models.users import EmailQuerySet, User
from organizations.working_hours import DEFAULT_WEEK, WorkingWeek


# From most to least: `permissions.ROLE_ORDER`, which decides who may assign which role, is this order reversed.
class MemberRole(models.TextChoices):
    OWNER = "OWNER", "Owner"
    MANAGER = "MANAGER", "Manager"
    SALES_OPS = "SALES_OPS", "Sales-ops"
    CLOSER = "CLOSER", "Closer"
    SETTER = "SETTER", "Setter"
    VIEWER = "VIEWER", "Viewer"


class Membership(TenantModel):
    """A user in an organization, with a role. Hosts, setters and triagers are members."""

    # PROTECT: former members stay, because appointments and notes refer to them.
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=20, choices=MemberRole.choices, default=MemberRole.CLOSER)
    is_active = models.BooleanField(default=True)
    # A member from before there were invitations, who is inactive until they accept one. Integrations may still name
    # them; they have no access and get no e-mail.
    is_unconfirmed = models.BooleanField(default=False, db_default=False, editable=False)
    wants_mail = models.BooleanField(
        "wants notifications", default=True, help_text="E-mail about booked, rescheduled and canceled appointments."
    )
    # By weekday, as `organizations.working_hours` has them; null for the default.
    working_hours = models.JSONField(null=True, blank=True)
    days_off = models.JSONField(null=True, blank=True)
    buffer_minutes = models.PositiveSmallIntegerField("pause between calls", default=0, db_default=0)
    # Of the secret in the member's iCalendar address; null without one. It has 256 random bits, so SHA-256 suffices.
    calendar_secret_hash = models.CharField(max_length=64, null=True, editable=False)
    # When a value that the API shows of the member last changed, also one of the user.
    updated_at = MillisecondDateTimeField(default=now, db_default=Now(), editable=False)

    class Meta(TenantModel.Meta):
        ordering = ["user__first_name", "user__last_name", "id"]
        constraints = [UniqueConstraint("organization", "user", name="one_membership_per_user")]

    def __str__(self) -> str:
        return self.user.get_full_name()

    @property
    def working_week(self) -> WorkingWeek:
        return WorkingWeek(
            get_zone(self.user.time_zone),
            self.working_hours or DEFAULT_WEEK,
            self.days_off or (),
            timedelta(minutes=self.buffer_minutes),
        )


# The members that bookings, opt-ins, imports and forms can name as host, setter or triager. A viewer could do nothing
# with the row.
CAN_BE_ASSIGNED = Q(user__is_active=True) & (Q(is_active=True) | Q(is_unconfirmed=True)) & ~Q(role=MemberRole.VIEWER)


IS_ACTIVE_MEMBER = Q(is_active=True, user__is_active=True)
# As `User.get_full_name`.
MEMBER_NAME = Coalesce(
    NullIf(Trim(Concat("user__first_name", Value(" "), "user__last_name")), Value("")),
    "user__email",
    output_field=models.CharField(),
)


class InvitationQuerySet(EmailQuerySet, TenantQuerySet):  # type: ignore[override]  # of as_manager's type
    def unanswered(self) -> Self:
        """Filter to invitations that are neither accepted, declined nor withdrawn. They may have expired."""
        return self.filter(accepted_at=None, declined_at=None, withdrawn_at=None)


class Invitation(TenantModel, Job):
    """An offer of membership to an address; its job is the e-mail with the link, whose token is not stored."""

    email = models.EmailField("e-mail")
    role = models.CharField(max_length=20, choices=MemberRole.choices, default=MemberRole.CLOSER)
    invited_by = models.ForeignKey(User, null=True, editable=False, on_delete=models.SET_NULL, related_name="+")
    expires_at = MillisecondDateTimeField(editable=False)
    sent_count = models.PositiveSmallIntegerField("times sent", default=1, editable=False)
    last_sent_at = MillisecondDateTimeField("last sent", default=now, editable=False)
    accepted_at = MillisecondDateTimeField("accepted", null=True, editable=False)
    declined_at = MillisecondDateTimeField("declined", null=True, editable=False)
    withdrawn_at = MillisecondDateTimeField("withdrawn", null=True, editable=False)
    # The organization can't invite the address again.
    unsubscribed_at = MillisecondDateTimeField("asked for no more invitations", null=True, editable=False)

    objects: ClassVar[Any] = tenant_manager(InvitationQuerySet)
    unscoped: ClassVar[Any] = InvitationQuerySet.as_manager()  # type: ignore[assignment]  # as above

    class Meta(TenantModel.Meta):
        ordering = ["-created_at", "-id"]
        constraints = [
            UniqueConstraint(
                "organization",
                Lower("email"),
                condition=Q(accepted_at=None, declined_at=None, withdrawn_at=None),
                name="one_open_invitation_per_email",
            )
        ]
        indexes = [
            models.Index(
                fields=["organization", "next_attempt_at"], condition=Q(state=State.PENDING), name="invitation_due"
            ),
            models.Index(fields=["organization", "-created_at", "-id"], name="invitation_newest"),
        ]

    def __str__(self) -> str:
        return self.email

    @property
    def is_open(self) -> bool:
        return self.status == "Open"

    @property
    def status(self) -> str:
        if self.accepted_at:
            return "Accepted"
        if self.declined_at:
            return "Declined"
        # An expired invitation is withdrawn when the address is invited again.
        if self.expires_at <= (self.withdrawn_at or now()):
            return "Expired"
        return "Withdrawn" if self.withdrawn_at else "Open"


class SavedView(TenantModel):
    """A named address of the list of the model labelled `page`, such as `leads.lead`. Without an owner it is shared.

    One without a name has the columns that its owner chose for the list.
    """

    owner = TenantForeignKey(Membership, null=True, on_delete=models.CASCADE, related_name="+", db_index=False)
    page = models.CharField(max_length=60)
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=2000)

    class Meta(TenantModel.Meta):
        ordering = ["name"]
        constraints = [
            UniqueConstraint(
                fields=["organization", "page", "owner", "name"], nulls_distinct=False, name="one_saved_view_per_name"
            )
        ]

    @property
    def version(self) -> str:
        """A hash of what people can change."""
        return sha256(f"{self.name}\n{self.query}".encode()).hexdigest()

    def __str__(self) -> str:
        return self.name
