"""The admin page of members: roles, access, working hours and calendar addresses. They join by invitations."""

from datetime import datetime
from operator import attrgetter
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Case, F, Model, QuerySet, When
from django.db.models.functions import Greatest
from django.db.models.lookups import GreaterThanOrEqual
from django.http import HttpRequest
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminSelectWidget

from accounts.pages import secret_page
from accounts.time_zone import describe_zone
from appointments.calendar_feed import calendar_address
from organizations import services
from organizations.models import Membership
from organizations.permissions import Area, assignable_roles, current_user, roles_by_organization
from organizations.working_hours import format_week
from staff.accounts.handing_over import hand_over_link, hand_over_work, work_links
from staff.accounts.working_hours import BUFFERS, DaysOffField, WeekField
from staff.connections.notifications import email_notifications
from staff.toolkit.actions import ConfirmationForm, actor_of, object_action, row_url
from staff.toolkit.base import Fieldsets
from staff.toolkit.lists import column, day_and_time
from staff.toolkit.tenant import TenantAdmin, TenantForm

# The order of `last_time`. PostgreSQL's GREATEST ignores nulls.
LAST_AT = Greatest("user__last_seen_at", "user__last_login")
LAST_TIME = Case(When(GreaterThanOrEqual(LAST_AT, F("created_at")), is_active=True, then=LAST_AT))


def leave_question(member: Membership) -> SafeString:
    text = "You lose access to this organization at once. You can rejoin only with a new invitation."
    work = work_links(member)
    if not work:
        return format_html("{}", text)
    return format_html(
        "{} Your open work: {}. Ask an owner or manager to hand it over, before or afterwards.", text, work
    )


def other_zone(member: Membership) -> str:
    """Return a sentence if the member's clock is not the one of the page, which names its zone already."""
    zone = member.user.time_zone
    return "" if zone == timezone.get_current_timezone_name() else f" Times are in {describe_zone(zone)}."


def last_time(member: Membership) -> datetime | None:
    """Return when the member was last here, but nothing from before they joined or after they left."""
    times = (member.user.last_seen_at, member.user.last_login)
    return max((at for at in times if at and at >= member.created_at and member.is_active), default=None)


def has_two_factor(member: Membership) -> bool | None:
    return member.user.two_factor_enabled_at is not None if member.is_active else None


class RoleForm(TenantForm):
    """A form that offers the roles that the user may give."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "role" in self.fields:  # otherwise it is read-only
            roles = assignable_roles(self.request, self.organization.pk)
            self.fields["role"].choices = [(role.value, role.label) for role in reversed(roles)]


class MemberForm(RoleForm):
    working_hours = WeekField(help_text="Such as 9-18, or 9-12, 13-18. Leave a day off empty.")
    days_off = DaysOffField(
        required=False, help_text="Holidays, one in a line, or the first to the last day: 24.12.2026 to 1.1.2027."
    )
    buffer_minutes = forms.TypedChoiceField(
        required=False,
        coerce=int,
        empty_value=0,  # type: ignore[arg-type]  # it may be anything
        choices=BUFFERS.items(),
        label="Pause between calls",
        widget=UnfoldAdminSelectWidget,
        help_text="Kept free before and after each call.",
    )

    class Meta:
        help_texts = {
            "is_active": "Inactive members lose access immediately.",
            "wants_mail": "E-mails about appointments, and about notes that mention the member.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        hours = self.fields["working_hours"]
        hours.help_text = f"{hours.help_text}{other_zone(self.instance)}"

    def lock_row(self) -> Model:
        services.lock_owners(self.organization)  # as `change_member` does first
        return super().lock_row()


@admin.register(Membership)
class MembershipAdmin(TenantAdmin):
    empty_text = "Invite your team under Invitations."
    area = Area.TEAM
    form = MemberForm
    list_display = ("name", "email", "role", "is_active", "two_factor", "last_seen", "created_at")
    name = column("Name", str, ordering="user__first_name")
    email = column("E-mail", lambda member: member.user.email, ordering="user__email")
    two_factor = column("Two-factor", has_two_factor, boolean=True)
    last_seen = column("Last here", lambda member: day_and_time(last_time(member)), ordering=LAST_TIME)
    open_work = column("Open work", lambda member: hand_over_link(member) or "Nothing")
    own_work = column("Open work", lambda member: work_links(member) or "Nothing")
    working_week = column(
        "Working hours", lambda member: f"{format_week(member.working_week.hours) or 'None'}.{other_zone(member)}"
    )
    account_id = column("User ID", lambda member: member.user_id)
    select_related = ("user",)
    list_filter = ("role", "is_active")
    search_fields = ("user__email", "user__first_name", "user__last_name")
    search_help_text = "Name or e-mail"
    ordering = ("user__first_name", "user__last_name", "id")
    actions_detail = ("hand_over", "leave", "email_notifications", "calendar_address", "revoke_calendar_address")
    hand_over = hand_over_work
    email_notifications = email_notifications
    can_add = False
    readonly_fields = ("name", "email", "open_work", "account_id", "created_at")
    fields = ["name", "email", "role", "is_active", "open_work", "wants_mail", "account_id", "created_at"]

    def get_readonly_fields(self, request: HttpRequest, obj: Membership | None = None) -> tuple[str, ...]:
        if obj is None:
            return ()
        fixed = [*self.readonly_fields, "own_work", "working_week"]
        if not self.has_manage_permission(request, obj):
            return (*fixed, "role", "is_active")
        if not obj.is_active:
            fixed.append("is_active")  # a former member comes back by accepting an invitation only
        if not obj.wants_mail and not self.has_own_permission(request, obj):
            fixed.append("wants_mail")  # only the member can switch their e-mail on again
        return tuple(fixed)

    def get_fieldsets(self, request: HttpRequest, obj: Membership | None = None) -> Fieldsets:
        """Return the fieldsets; to users who may only view the page, the working hours in words.

        Only those who may hand over the open work get the link to do it.
        """
        may_change = self.has_change_permission(request, obj)
        hours = ["working_hours", "days_off", "buffer_minutes"] if may_change else ["working_week"]
        work = "open_work" if self.has_manage_permission(request, obj) else "own_work"
        fields = [work if name == "open_work" else name for name in self.fields]
        return [(None, {"fields": fields}), ("Working hours", {"fields": hours})]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        """Return the members of organizations that the user owns or manages, and the user's own memberships."""
        own_memberships = Membership.unscoped.filter(
            user=current_user(request), organization__in=roles_by_organization(request)
        ).select_related("organization", *self.select_related)
        return super().get_queryset(request) | own_memberships

    def has_manage_permission(self, request: HttpRequest, obj: Membership | None = None) -> bool:
        is_leader = self.has_write_permission(request, obj)
        return is_leader and (obj is None or obj.role in assignable_roles(request, obj.organization_id))

    def has_view_permission(self, request: HttpRequest, obj: Membership | None = None) -> bool:
        return super().has_view_permission(request, obj) or obj is None or self.has_own_permission(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: Membership | None = None) -> bool:
        return self.has_manage_permission(request, obj) or self.has_own_permission(request, obj)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return super().has_view_permission(request)

    def has_own_permission(self, request: HttpRequest, obj: Membership | None = None) -> bool:
        return obj is not None and obj.user_id == current_user(request).pk

    def save_model(self, request: HttpRequest, obj: Membership, form: MemberForm, change: bool) -> None:
        data = form.cleaned_data
        services.change_member(
            actor=actor_of(request),
            member=obj,
            # The form has only the fields that the user may change.
            role=data.get("role"),
            is_active=data.get("is_active"),
            wants_mail=data.get("wants_mail"),
            assignable=assignable_roles(request, obj.organization_id),
        )
        # A page that was opened before an upgrade lacks the fields.
        if "working_hours_0" in form.data and {"working_hours", "days_off", "buffer_minutes"} & {*form.changed_data}:
            services.set_working_hours(
                member=obj,
                hours=data["working_hours"],
                days_off=data["days_off"],
                buffer_minutes=data["buffer_minutes"],
            )
        if "is_active" in form.changed_data and (work := hand_over_link(obj)):
            messages.warning(request, format_html("{} no longer has access. Open work: {}", obj, work))

    @object_action(
        "Calendar address",
        icon="event",
        question="Create an address that Google Calendar, Outlook and others can subscribe to? It shows the calls that "
        "you host, with names and contact data, to anyone who has it. A former address stops working.",
        permission="own",
        is_possible=attrgetter("is_active"),
        state=lambda member: member.calendar_secret_hash,
        answer=lambda request, member, secret: secret_page(
            request,
            member,
            row_url(member),
            title="Calendar address",
            explanation="Add it to your calendar as a calendar from the internet (“From URL”). It is shown only once.",
            secret=calendar_address(member, secret),
        ),
    )
    def calendar_address(self, request: HttpRequest, member: Membership, form: ConfirmationForm) -> str:
        return services.issue_calendar_secret(member=member)

    @object_action(
        "Revoke the calendar address",
        icon="event_busy",
        question="Calendars that subscribe to it get no more calls.",
        danger=True,
        is_possible=attrgetter("calendar_secret_hash"),
    )
    def revoke_calendar_address(self, request: HttpRequest, member: Membership, form: ConfirmationForm) -> None:
        services.revoke_calendar_secret(member=member)

    @object_action(
        "Leave the organization",
        icon="logout",
        question=leave_question,
        is_possible=attrgetter("is_active"),
        permission="own",
        danger=True,
        answer=lambda request, member, result: redirect("admin:index"),
    )
    def leave(self, request: HttpRequest, member: Membership, form: ConfirmationForm) -> None:
        services.leave_organization(member=member)
