"""The pages of opt-ins, which only the API creates, and their entries in a lead's timeline."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.contrib.postgres.aggregates import StringAgg
from django.db.models import Exists, OuterRef, Prefetch, QuerySet, Subquery, TextField, Value
from django.db.models.functions import Coalesce, Concat
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.text import capfirst

from leads.models import Lead
from optins.models import TRAFFIC_FIELDS, UTM_FIELDS, OptIn, OptInSource, QuestionAnswer
from organizations.permissions import Area
from staff.configuration.statuses import status_label
from staff.labels import label
from staff.leads.calls import call_buttons
from staff.leads.lists import calls_of, contact, describe_calls, find_by_lead
from staff.leads.source_labels import SourceNameFilter, source_label, source_name_column, source_of
from staff.selections import HAS_APPOINTMENT, OPT_IN_VIEWS, MyOptInsFilter, StageFilter
from staff.toolkit.actions import row_url
from staff.toolkit.base import ReadOnlyInline
from staff.toolkit.export import Column, Export
from staff.toolkit.lists import DayRangeFilter, column, time_column, two_lines
from staff.toolkit.record import Card, Fact, RecordAdmin
from staff.toolkit.tenant import TenantAdmin
from staff.toolkit.timeline import MAX_TEXT, Cursor, Detail, TimelineEntry, beginning, full_time, newest, shorten

MAX_TIMELINE_ANSWERS = 10  # per opt-in
TRAFFIC_LABELS = {name: capfirst(label(name.replace("_", " "))) for name in TRAFFIC_FIELDS}


class QuestionAnswerInline(ReadOnlyInline):
    model = QuestionAnswer
    verbose_name_plural = "Answers"
    fields = ("position", "question", "answer")
    ordering = ("position",)


def answers_text() -> Subquery:
    text = TextField()
    answer = Coalesce("answer", Value("–"), output_field=text)
    line = Concat("question", Value(": ", output_field=text), answer, output_field=text)
    rows = QuestionAnswer.objects.of(OuterRef("organization")).filter(opt_in=OuterRef("pk")).order_by()
    return Subquery(rows.values("opt_in").annotate(lines=StringAgg(line, "\n", order_by="position")).values("lines"))


@admin.register(OptIn)
class OptInAdmin(TenantAdmin):
    empty_text = "Forms submit opt-ins through the API. Create a key under API keys."
    area = Area.RECORDS
    can_add = can_change = False
    # Rows open the lead's page, which would return to the list of leads with filters that it doesn't have.
    preserve_filters = False
    list_display = ("lead_contact", "log_call", "is_booked", "submitted", "source_and_form", "traffic", "lead_status")
    more_columns = ("lead_setter", *UTM_FIELDS[1:], "external_reference")
    related_of_columns = {"lead_setter": "lead__setter__user"}
    lead_setter = column("Lead's setter", lambda opt_in: opt_in.lead.setter or "Unassigned")
    # Form buttons of the list's own form, which has the token.
    log_call = column("Log a call", lambda opt_in: call_buttons(opt_in.lead) if opt_in.may_change_lead else "")
    is_booked = column("Booked?", lambda opt_in: bool(opt_in.is_booked), boolean=True)
    source_and_form = column(
        "Source",
        lambda opt_in: two_lines(source_of(opt_in), opt_in.provider_form_name or ""),
        ordering="source",
    )
    traffic = column(
        "UTM source",
        lambda opt_in: two_lines(opt_in.utm_source or "–", opt_in.utm_campaign or ""),
        ordering="utm_source",
    )
    lead_status = column("Lead's status", lambda opt_in: status_label(opt_in.lead.status), ordering="lead__status")
    source_shown = column("Source", source_of)
    submitted = time_column("created_at", "Submitted")
    select_related = ("lead__status",)
    list_display_links = None  # the contact has them: to the lead, and to its phone
    column_values = {"is_booked": HAS_APPOINTMENT, **calls_of("lead")}
    views = OPT_IN_VIEWS
    list_filter = (
        *(StageFilter, MyOptInsFilter, ("source", SourceNameFilter), "lead__status", "lead__setter"),
        ("created_at", DayRangeFilter),
    )
    find_rows = staticmethod(find_by_lead)
    lookups_of_links = ("utm_campaign__exact", "utm_campaign__isnull")  # the reports'
    search_fields = ("lead__email", "lead__first_name", "lead__last_name", "external_reference")
    search_help_text = "Search by the lead's name, e-mail or phone, or by reference"
    buttons = (
        Export(
            Column("Created", "created_at", is_time=True),
            Column("Lead e-mail", "lead__email"),
            Column("Lead first name", "lead__first_name"),
            Column("Lead last name", "lead__last_name"),
            Column("Lead phone", "lead__phone_e164"),
            Column("Lead status", "lead__status__name"),
            source_name_column("Source", OptInSource.choices),
            Column("Form", "provider_form_name"),
            Column("Form ID", "provider_form_id"),
            Column("Reference", "external_reference"),
            *(Column(name.replace("utm_", "UTM "), name) for name in UTM_FIELDS),
            Column("Referrer", "referrer"),
            Column("Landing page", "landing_page"),
            Column("Answers", answers_text()),
            Column("ID", "id"),
        ),
    )
    inlines = (QuestionAnswerInline,)
    origin = ["lead", ("source_shown", "created_at"), ("provider_form_name", "provider_form_id"), "external_reference"]
    fieldsets = (
        (None, {"fields": origin}),
        ("Traffic", {"fields": [tuple(TRAFFIC_FIELDS[:3]), tuple(TRAFFIC_FIELDS[3:5]), "referrer", "landing_page"]}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[OptIn]:
        lead_admin: Any = admin.site.get_model_admin(Lead)
        leads = lead_admin.writable_rows(request, Lead.unscoped.filter(pk=OuterRef("lead")))
        return super().get_queryset(request).annotate(may_change_lead=Exists(leads), source_label=source_label())

    def row_link(self, row: OptIn) -> str:
        # People open opt-ins to call the lead: its page has phone, buttons, and here the answers.
        return f"{row_url(row.lead)}?kind=opt_ins#entry-{row.pk}"

    @admin.display(description="Lead", ordering="lead__first_name")
    def lead_contact(self, opt_in: OptIn) -> str:
        return contact(opt_in.lead, self.row_link(opt_in), describe_calls(opt_in))


def with_first_answers(lead: Lead) -> QuerySet[OptIn]:
    """Return the lead's opt-ins with their texts shortened by PostgreSQL: those of one page could have 50 MB."""
    first_answers = (
        QuestionAnswer.objects.of(lead.organization)
        .defer("question", "answer")
        .annotate(short_question=beginning("question"), short_answer=beginning("answer"))
        .order_by("position")[: MAX_TIMELINE_ANSWERS + 1]
    )
    return (
        OptIn.objects.of(lead.organization)
        .filter(lead=lead)
        .defer(*TRAFFIC_FIELDS)
        .annotate(source_label=source_label(), **{f"short_{name}": beginning(name) for name in TRAFFIC_FIELDS})
        .prefetch_related(Prefetch("question_answers", first_answers, to_attr="first_answers"))
    )


def opt_ins(lead: Lead, cursor: Cursor | None) -> Iterator[TimelineEntry]:
    for row in newest(with_first_answers(lead), cursor):
        yield entry(row)


def entry(row: Any) -> TimelineEntry:
    """Return an entry for one of `with_first_answers`."""
    answers = row.first_answers[:MAX_TIMELINE_ANSWERS]
    values = [(answer.short_question, answer.short_answer or "–") for answer in answers]
    values.append(("Form", row.provider_form_name))
    values += [(TRAFFIC_LABELS[name], getattr(row, f"short_{name}")) for name in TRAFFIC_FIELDS]
    details = [Detail(shorten(name), shorten(value)) for name, value in values if value]
    is_cut = any(len(text) > MAX_TEXT for pair in values for text in pair if text)
    if is_cut or len(row.first_answers) > MAX_TIMELINE_ANSWERS:
        link = format_html('<a href="{}">Open the opt-in to read all answers</a>', row_url(row))
        details.append(Detail("More", link))
    text = f"Opt-in: {source_of(row)}"
    return TimelineEntry(row.created_at, row.pk, "opt_ins", text, details=details, url=row_url(row))


def answers_card(page: RecordAdmin, request: HttpRequest, row: Any) -> Card | None:
    """Return what the row's lead answered last. Forms without questions are passed over."""
    answered = with_first_answers(row.lead).filter(Exists(QuestionAnswer.unscoped.filter(opt_in=OuterRef("pk"))))
    latest: Any = answered.order_by("-created_at", "-id").first()
    if latest is None:
        return None
    answers = latest.first_answers[:MAX_TIMELINE_ANSWERS]
    facts = [Fact(shorten(answer.short_question), shorten(answer.short_answer or "–")) for answer in answers]
    when = f"Opt-in of {full_time(latest.created_at)}"
    return Card("Form answers", [*facts, Fact("", when, row_url(latest))])
