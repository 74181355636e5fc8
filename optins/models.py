"""Opt-ins: form submissions, with their answers and traffic source (docs/interface.md, O1 and O2)."""

from django.db import models
from django.db.models import UniqueConstraint

from foundation.db.timestamps import MillisecondDateTimeField
from leads.models import Lead
from organizations.isolation import TenantForeignKey, TenantModel


class OptInSource(models.TextChoices):
    SCHEDULER_A = "SCHEDULER_A", "Scheduler A"
    SCHEDULER_B = "SCHEDULER_B", "Scheduler B"
    SCHEDULER_C = "SCHEDULER_C", "Scheduler C"
    MANUAL = "MANUAL", "Manual"
    FORMBUILDER_A = "FORMBUILDER_A", "Form builder A"
    WEBINAR = "WEBINAR", "Webinar"
    NEWSLETTER = "NEWSLETTER", "Newsletter"
    LANDING_PAGE = "LANDING_PAGE", "Landing page"
    OTHER = "OTHER", "Other"


# The submit endpoint accepts all sources but two of the schedulers.
ACCEPTED_ON_SUBMIT = [source for source in OptInSource.values if source not in ("SCHEDULER_B", "SCHEDULER_C")]
UTM_FIELDS = ["utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term"]
TRAFFIC_FIELDS = [*UTM_FIELDS, "referrer", "landing_page"]
MAX_TRAFFIC_LENGTH = 8_192


class Traffic(models.Model):
    utm_source = models.CharField(max_length=MAX_TRAFFIC_LENGTH, null=True, blank=True)  # the API shows null
    utm_medium = models.CharField(max_length=MAX_TRAFFIC_LENGTH, null=True, blank=True)
    utm_campaign = models.CharField(max_length=MAX_TRAFFIC_LENGTH, null=True, blank=True)
    utm_content = models.CharField(max_length=MAX_TRAFFIC_LENGTH, null=True, blank=True)
    utm_term = models.CharField(max_length=MAX_TRAFFIC_LENGTH, null=True, blank=True)

    class Meta:
        abstract = True


class OptIn(TenantModel, Traffic):
    lead = TenantForeignKey(Lead, on_delete=models.PROTECT, related_name="opt_ins", db_index=False)
    source = models.CharField(max_length=20, choices=OptInSource.choices)
    provider_form_id = models.CharField(max_length=255, null=True, blank=True)
    provider_form_name = models.CharField(max_length=255, null=True, blank=True)
    external_reference = models.CharField(max_length=255, null=True, blank=True)
    referrer = models.CharField(max_length=MAX_TRAFFIC_LENGTH, null=True, blank=True)
    landing_page = models.CharField(max_length=MAX_TRAFFIC_LENGTH, null=True, blank=True)
    # When the source system changed what is stored; only of those that a sync has stored.
    synced_at = MillisecondDateTimeField(null=True, editable=False)
    # The lead's first booking that isn't before; not right while the lead is marked (`appointments.first_bookings`).
    booked_at = MillisecondDateTimeField(null=True, editable=False)

    class Meta(TenantModel.Meta):
        verbose_name = "opt-in"
        ordering = ["-created_at", "-id"]
        constraints = [
            UniqueConstraint("organization", "source", "external_reference", name="one_opt_in_per_reference_and_source")
        ]
        indexes = [
            models.Index(
                fields=["organization", "-created_at", "-id"],
                include=["lead", "booked_at"],
                name="opt_in_newest_covering",
            ),
            models.Index(fields=["organization", "source", "-created_at", "-id"], name="opt_in_source"),
            models.Index(fields=["lead", "-created_at", "-id"], name="opt_in_of_lead"),
        ]

    def __str__(self) -> str:
        return f"{self.get_source_display()}, {self.created_at:%d %b %Y}"


class QuestionAnswer(TenantModel):
    opt_in = TenantForeignKey(OptIn, on_delete=models.CASCADE, related_name="question_answers", db_index=False)
    question = models.TextField(max_length=10_000)
    answer = models.TextField(max_length=10_000, null=True, blank=True)
    position = models.PositiveIntegerField()

    class Meta(TenantModel.Meta):
        ordering = ["position"]
        constraints = [UniqueConstraint("opt_in", "position", name="one_answer_per_position")]

    def __str__(self) -> str:
        return self.question
