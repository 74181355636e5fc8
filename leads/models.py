"""Leads, their sources, their status history, and the custom fields of leads and appointments."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, ClassVar, Self
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.core.serializers.json import DjangoJSONEncoder
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Expression, F, Func, Q, UniqueConstraint, Value
from django.db.models.functions import Coalesce, Lower, Now

from foundation.api.emails import ERASED_DOMAIN, spellings
from foundation.db.names import fold_name
from foundation.db.timestamps import MillisecondDateTimeField, isoformat_z, now
from leads.imports.models import (  # noqa: F401  # so that Django knows them
    Import,
    ImportColumn,
    ImportRow,
    ImportTurn,
    ImportUndo,
)
from leads.privacy.models import Erasure, LeadRetention  # noqa: F401  # so that Django knows them
from organizations.actors import ActorFields
from organizations.isolation import TenantForeignKey, TenantModel, TenantQuerySet, tenant_manager
from organizations.models import Membership
from organizations.versions import Change, VersionedModel
from statuses.models import Status, StatusChange


class TouchPointType(models.TextChoices):
    APPOINTMENT = "APPOINTMENT", "Appointment"
    CALL = "CALL", "Call"
    EMAIL = "EMAIL", "E-mail"
    SMS = "SMS", "SMS"
    FOLLOW_UP = "FOLLOW_UP", "Follow-up"
    OTHER = "OTHER", "Other"


ERASED_EMAIL = f"@{ERASED_DOMAIN}"  # the end of an erased lead's address


class NamedQuerySet(TenantQuerySet):
    def with_name(self, name: str) -> Self:
        """Filter by name. Rows of version 0.2 can share one; the row to use comes first."""
        same = Q(name_key=fold_name(name)) | Q(lowercase_name=Lower(Value(name)))
        return self.alias(lowercase_name=Lower("name")).filter(same).order_by(F("name_key").asc(nulls_last=True), "id")


class NamedModel(TenantModel):
    """A row with a unique name. Code that stores a row without `save` has to set `name_key`."""

    name = models.CharField(max_length=255)
    # Compared instead of the name: `fold_name(name)`, which can be three times as long. A column, because PostgreSQL
    # doesn't use an expression's index under row-level security. Null if an older row has the same key, or if version
    # 0.2 stored the row.
    name_key = models.CharField(max_length=765, null=True, editable=False)

    objects: ClassVar[Any] = tenant_manager(NamedQuerySet)
    unscoped: ClassVar[Any] = NamedQuerySet.as_manager()

    class Meta(TenantModel.Meta):
        abstract = True
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.name_key = fold_name(self.name)
        super().save(*args, **kwargs)


# What staff read for the names that the service itself gives to sources.
SOURCE_LABELS = {
    **{f"SCHEDULER_{letter}": f"Scheduler {letter}" for letter in "ABC"},
    **{"MANUAL": "Manual", "IMPORT": "Import", "FORMBUILDER_A": "Form builder A", "WEBINAR": "Webinar"},
    **{"NEWSLETTER": "Newsletter", "LANDING_PAGE": "Landing page", "OTHER": "Other"},
}


class Source(NamedModel):
    """Where leads come from. Staff read `label`, integrations only `name`."""

    label = models.CharField(
        max_length=100,
        blank=True,
        default="",
        db_default="",
        help_text="What your team reads instead of the name. Forms, bookings and the API keep the name.",
    )

    def __str__(self) -> str:
        return self.label or SOURCE_LABELS.get(self.name, self.name)

    class Meta(NamedModel.Meta):
        constraints = [
            UniqueConstraint("organization", Lower("name"), name="one_source_per_name"),
            UniqueConstraint("organization", "name_key", name="one_source_per_name_key"),
        ]


class LeadQuerySet(TenantQuerySet):
    def with_email(self, organization: UUID, email: str) -> Self:
        """Filter for the lead with this e-mail in any spelling, else the one that it was merged into."""
        return self.with_spellings(Value(organization), [Value(each) for each in spellings(email)])

    def with_spellings(self, organization: Expression, emails: Sequence[Expression]) -> Self:
        # Under row-level security PostgreSQL does not use the index on lower(email): it runs lower(), which is not
        # leakproof, only on rows that have passed the policy. The function runs as the table's owner, so it may.
        lead_id, merged_into = (
            # Coalesce only if needed: PostgreSQL takes it for leaky, and reads all of the organization's leads.
            Coalesce(*calls) if len(calls) > 1 else calls[0]
            for calls in (
                [Func(organization, each, function=function, output_field=models.UUIDField()) for each in emails]
                for function in ("leads_with_email", "leads_merged_email")
            )
        )
        # With `for_update`, the comparison drops a lead whose e-mail changed during the wait for its lock.
        has_email = Q(lowercase_email__in=emails) | Q(pk=merged_into)
        return self.alias(lowercase_email=Lower("email")).filter(has_email, pk=lead_id)

    def for_update(self) -> Self:
        """Lock the rows until the transaction ends.

        Don't add select_related: after waiting for the lock PostgreSQL reads the locked row again, but not joined ones.
        """
        # NO KEY UPDATE, so that inserting rows that refer to the lead does not wait.
        return self.select_for_update(no_key=True)


class Lead(VersionedModel):
    email = models.EmailField()
    first_name = models.CharField(max_length=255, blank=True)
    # Such a name is a placeholder, which the first real one replaces. Null, as in rows of version 0.2, means no.
    is_first_name_from_email = models.BooleanField(null=True, editable=False)
    last_name = models.CharField(max_length=255, blank=True)
    phone_e164 = models.CharField("phone", max_length=16, null=True, blank=True)  # the API shows null
    phone_country = models.CharField(max_length=2, null=True, blank=True, editable=False)
    status = TenantForeignKey(Status, on_delete=models.PROTECT, related_name="+", db_index=False)
    setter = TenantForeignKey(
        Membership, null=True, blank=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    first_source = TenantForeignKey(Source, on_delete=models.PROTECT, related_name="+", editable=False, db_index=False)
    last_source = TenantForeignKey(Source, on_delete=models.PROTECT, related_name="+", editable=False, db_index=False)
    next_touch_point_at = MillisecondDateTimeField(null=True, blank=True)
    next_touch_point_type = models.CharField(max_length=12, choices=TouchPointType.choices, null=True, blank=True)
    # The earliest of the open next steps. Unlike the touch point it stays until it is done, even when overdue.
    next_step_at = MillisecondDateTimeField(null=True, blank=True, editable=False)
    next_step_type = models.CharField(max_length=12, choices=TouchPointType.choices, null=True, editable=False)
    next_step_note = models.CharField(max_length=255, null=True, editable=False)
    custom_values = models.JSONField(default=dict, blank=True, editable=False)
    external_reference = models.CharField(max_length=255, null=True, editable=False)  # an integrator's own id
    # Since when the lead wants no e-mails. Only the lead sets it, by the link in each of them.
    unsubscribed_at = MillisecondDateTimeField(null=True, editable=False)

    # When the lead got its status. A trigger keeps it (leads/migrations/0039_status_since.py).
    status_since = MillisecondDateTimeField(null=True, editable=False)

    unversioned = ("is_first_name_from_email", "external_reference", "unsubscribed_at", "status_since")
    trigger_columns = {"status_id": ("status_since",)}

    objects: ClassVar[Any] = tenant_manager(LeadQuerySet)
    unscoped: ClassVar[Any] = LeadQuerySet.as_manager()

    class Meta(VersionedModel.Meta):
        ordering = ["-created_at", "-id"]
        constraints = [
            UniqueConstraint("organization", Lower("email"), name="one_lead_per_email"),
            UniqueConstraint("organization", "external_reference", name="one_lead_per_reference"),
        ]
        indexes = [
            models.Index(fields=["organization", "-created_at", "-id"], name="lead_newest"),
            # A filtered list is sorted by created_at; including it here allows an index-only scan.
            models.Index(
                fields=["organization", "-updated_at", "-id"], include=["created_at"], name="lead_updated_covering"
            ),
            models.Index(fields=["organization", "status", "-created_at", "-id"], name="lead_status"),
            # For a column of the board, which begins with the latest activity.
            models.Index(fields=["organization", "status", "-updated_at", "-id"], name="lead_board"),
            models.Index(fields=["organization", "setter", "-created_at", "-id"], name="lead_setter"),
            models.Index(fields=["organization", "-status_since", "-id"], name="lead_status_since"),
            # For a filter of the list by a custom field's value, through a function of the tables' owner.
            GinIndex(
                fields=["custom_values"],
                opclasses=["jsonb_path_ops"],
                gin_pending_list_limit=512,
                name="lead_custom_values",
            ),
            # For the task that looks for touch points that have passed.
            models.Index(
                fields=["organization", "next_touch_point_at"],
                condition=Q(next_touch_point_at__isnull=False),
                name="lead_touch_point",
            ),
            # For the follow-ups that are due: the leads of a status without a touch point, or with one by a time.
            models.Index(fields=["organization", "status", "next_touch_point_at"], name="lead_follow_up"),
            models.Index(
                fields=["organization", "next_step_at"], condition=Q(next_step_at__isnull=False), name="lead_next_step"
            ),
            # For the search for duplicates: what two e-mail addresses, phones or names of one person have in common.
            models.Index("organization", Func("email", function="leads_email_key"), name="lead_email_key"),
            models.Index(
                "organization", Func("first_name", "last_name", function="leads_name_key"), name="lead_name_key"
            ),
            models.Index(
                fields=["organization", "phone_e164"], condition=Q(phone_e164__isnull=False), name="lead_phone"
            ),
        ]

    @property
    def is_erased(self) -> bool:
        return self.email == f"erased-{self.pk}{ERASED_EMAIL}"

    @property
    def touch_point(self) -> list[str | None]:
        """Its time and type, as texts."""
        at = self.next_touch_point_at
        return [isoformat_z(at) if at else None, self.next_touch_point_type]

    def __str__(self) -> str:
        return f"{self.first_name} {self.last_name}".strip() or self.email


class LeadStatusChange(StatusChange):
    lead = TenantForeignKey(Lead, on_delete=models.CASCADE, related_name="status_changes", db_index=False)
    # It was undone, or undid the one before: reports of the time in a status leave both out.
    is_undone = models.BooleanField(default=False, db_default=False, editable=False)

    class Meta(StatusChange.Meta):
        verbose_name = "status change"
        indexes = [
            models.Index(fields=["lead", "-created_at"], name="lead_history"),
            # For the time that leads had a status. A status belongs to one organization.
            models.Index(fields=["from_status", "-created_at", "-id"], name="lead_left_status"),
        ]


class LeadChange(Change):
    lead = TenantForeignKey(Lead, on_delete=models.CASCADE, related_name="changes", db_index=False)

    class Meta(Change.Meta):
        indexes = [models.Index(fields=["lead", "-created_at", "-id"], name="lead_change_newest")]


class NextStep(TenantModel, ActorFields):
    """What a member has to do about a lead. The lead's own columns repeat the earliest step that is not done."""

    MAX_OPEN: ClassVar = 50  # of a lead: its page, and Home, read all of them

    lead = TenantForeignKey(Lead, on_delete=models.CASCADE, related_name="next_steps", db_index=False)
    # Without one, the step is up to everyone who follows the lead.
    owner = TenantForeignKey(
        Membership, null=True, blank=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    at = MillisecondDateTimeField("when")
    type = models.CharField("how", max_length=12, choices=TouchPointType.choices)
    note = models.CharField("what about", max_length=255, null=True, blank=True)
    done_at = MillisecondDateTimeField(null=True, editable=False)
    done_by = models.CharField(max_length=600, null=True, editable=False)  # the actor's name

    class Meta(TenantModel.Meta):
        ordering = ["at", "id"]
        indexes = [
            models.Index(fields=["lead", "at"], condition=Q(done_at=None), name="next_step_open"),
            models.Index(fields=["owner", "at"], condition=Q(done_at=None), name="next_step_of_owner"),
            models.Index(fields=["lead", "-created_at", "-id"], name="next_step_newest"),
        ]

    @property
    def values(self) -> list[str | None]:
        """What a person can change, as texts."""
        owner = self.owner_id
        return [isoformat_z(self.at), self.type, self.note, str(owner) if owner else None]

    @property
    def version(self) -> str:
        """A hash of the values."""
        return sha256(repr(self.values).encode()).hexdigest()

    def __str__(self) -> str:
        return self.get_type_display()


class CallResult(models.TextChoices):
    NO_ANSWER = "NO_ANSWER", "No answer"
    TALKED = "TALKED", "Talked"
    VOICEMAIL = "VOICEMAIL", "Voicemail"
    WRONG_NUMBER = "WRONG_NUMBER", "Wrong number"


class EditableNote(TenantModel, ActorFields):
    """What notes of leads and of appointments have in common. Only pages show when one was edited, and pinned ones."""

    note = models.TextField(max_length=10_000)
    external_reference = models.CharField(max_length=255, null=True, editable=False)
    edited_at = MillisecondDateTimeField("edited", null=True, editable=False)
    is_pinned = models.BooleanField("pinned", default=False, db_default=False, editable=False)

    class Meta(TenantModel.Meta):
        abstract = True


class LeadNote(EditableNote):
    """A note about a lead. One with a `call_result` is a call by staff, and its text begins with the result."""

    lead = TenantForeignKey(Lead, on_delete=models.CASCADE, related_name="notes", db_index=False)
    call_result = models.CharField(max_length=12, choices=CallResult.choices, null=True, editable=False)

    class Meta(TenantModel.Meta):
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index(fields=["lead", "-created_at", "-id"], name="lead_note_newest"),
            models.Index(
                fields=["lead", "-created_at"], condition=Q(call_result__isnull=False), name="lead_call_newest"
            ),
            models.Index(fields=["lead", "-created_at"], condition=Q(is_pinned=True), name="lead_note_pinned"),
        ]

    def __str__(self) -> str:
        return self.note[:80]


class DeletedLeadNote(TenantModel):
    """The id of a deleted note, so that its events are still found: by filters, and when the lead is erased."""

    lead = TenantForeignKey(Lead, on_delete=models.CASCADE, related_name="deleted_notes")

    def __str__(self) -> str:
        return str(self.pk)


class LeadMerge(TenantModel, ActorFields):
    """A lead that was merged into another one, to which its id and e-mail now lead (docs/interface.md, L21)."""

    lead = TenantForeignKey(Lead, on_delete=models.CASCADE, related_name="merges", db_index=False)
    previous_id = models.UUIDField("previous ID", editable=False)
    # Null if another merged lead has the same: the lead that both are part of had taken it over.
    email = models.EmailField(null=True, editable=False)
    snapshot = models.JSONField(null=True, editable=False, encoder=DjangoJSONEncoder)  # to undo it, for 30 days

    class Meta(TenantModel.Meta):
        verbose_name = "merged lead"
        ordering = ["created_at", "id"]
        constraints = [
            UniqueConstraint("organization", "previous_id", name="one_merge_per_lead"),
            # The database refuses a lead with such an e-mail, see the migration that adds this table.
            UniqueConstraint("organization", Lower("email"), name="one_merged_lead_per_email"),
        ]
        indexes = [
            models.Index(fields=["lead", "created_at"], name="merge_of_lead"),
            # For the task that deletes old snapshots.
            models.Index(
                fields=["organization", "created_at"], condition=Q(snapshot__isnull=False), name="merge_with_snapshot"
            ),
        ]

    def __str__(self) -> str:
        return self.email or str(self.previous_id)


class PossibleDuplicate(TenantModel):
    """Two leads that may be the same person; `first` has the smaller id. A higher sum `reasons` is more certain."""

    EMAIL, PHONE, NAME = 4, 2, 1
    REASONS: ClassVar[dict[int, str]] = {EMAIL: "Same mailbox", PHONE: "Same phone", NAME: "Same name"}

    first = TenantForeignKey(Lead, on_delete=models.CASCADE, related_name="later_duplicates", db_index=False)
    second = TenantForeignKey(Lead, on_delete=models.CASCADE, related_name="earlier_duplicates", db_index=False)
    reasons = models.PositiveSmallIntegerField(editable=False)
    is_dismissed = models.BooleanField("not duplicates", default=False, editable=False)

    class Meta(TenantModel.Meta):
        ordering = ["-reasons", "-first_id", "second_id"]
        constraints = [UniqueConstraint("first", "second", name="one_possible_duplicate_per_pair")]
        indexes = [
            models.Index(fields=["second"], name="duplicate_of_second"),
            models.Index(
                fields=["organization", "-reasons", "-first", "second"],
                condition=Q(is_dismissed=False),
                name="duplicate_most_certain",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.first} and {self.second}"


class DuplicateSearch(TenantModel):
    """How far the search for duplicates has come: the last lead searched, in the order of changes."""

    searched_at = MillisecondDateTimeField(editable=False)
    searched_id = models.UUIDField(editable=False)

    class Meta(TenantModel.Meta):
        constraints = [UniqueConstraint("organization", name="one_duplicate_search_per_organization")]

    def __str__(self) -> str:
        return f"{self.searched_at}"


class CustomField(TenantModel):
    class Entity(models.TextChoices):
        LEAD = "LEAD", "Leads"
        APPOINTMENT = "APPOINTMENT", "Appointments"

    class Type(models.TextChoices):
        TEXT = "TEXT", "Text"
        NUMBER = "NUMBER", "Number"
        BOOLEAN = "BOOLEAN", "Yes or no"
        DATE = "DATE", "Date"
        SELECT = "SELECT", "Choice"

    entity = models.CharField("belongs to", max_length=12, choices=Entity.choices)
    key = models.CharField(
        max_length=64,
        validators=[
            RegexValidator(r"^[a-z][a-z0-9_]*\Z", "Use lower-case letters, digits and _, starting with a letter.")
        ],
        help_text="The name that integrations use.",
    )
    label = models.CharField(max_length=255, help_text="The name that people see.")
    type = models.CharField(max_length=8, choices=Type.choices, default=Type.TEXT)
    options = ArrayField(
        models.CharField(max_length=255),
        default=list,
        blank=True,
        help_text="Options of a choice, separated by commas.",
    )
    position = models.PositiveIntegerField(default=0)
    updated_at = MillisecondDateTimeField(default=now, db_default=Now(), editable=False)

    class Meta(TenantModel.Meta):
        ordering = ["entity", "position", "key"]
        constraints = [UniqueConstraint("organization", "entity", "key", name="one_custom_field_per_key")]

    def __str__(self) -> str:
        return self.label
