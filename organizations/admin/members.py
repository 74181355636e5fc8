"""The admin page of members: invite them by e-mail, change their role, deactivate them.

Nobody assigns a role above their own.
"""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.tokens import default_token_generator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from unfold.widgets import UnfoldAdminEmailInputWidget, UnfoldAdminTextInputWidget

from organizations.admin.actions import ConfirmationForm, object_action, secret_page
from organizations.admin.base import Fieldsets, ServiceForm
from organizations.admin.tenant import TenantAdmin, TenantForm
from organizations.isolation import bypass_rls
from organizations.models import Membership, User
from organizations.permissions import Area, assignable_roles, current_user, roles_by_organization
from organizations.services import change_member, invite_member

LINK_EXPLANATION = (
    "Send this link to the user. It lets them choose a password, works once and expires after three days. "
    "It is shown only once."
)


class MemberForm(TenantForm):
    """The form for a member's role, access and notifications."""

    class Meta:
        model = Membership
        fields = ()
        help_texts = {
            "is_active": "Inactive members lose access immediately.",
            "wants_mail": "E-mails about booked, rescheduled and canceled appointments.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "role" in self.fields:
            # Highest role first.
            role: Any = self.fields["role"]
            role.choices = [
                (name.value, name.label) for name in reversed(assignable_roles(self.request, self.organization.pk))
            ]


class InvitationForm(MemberForm):
    """The form for a new member."""

    email = forms.EmailField(
        widget=UnfoldAdminEmailInputWidget,
        help_text="If this person already has an account, its name and password are kept.",
    )
    first_name = forms.CharField(required=False, max_length=255, widget=UnfoldAdminTextInputWidget)
    last_name = forms.CharField(required=False, max_length=255, widget=UnfoldAdminTextInputWidget)


def password_link(request: HttpRequest, user: User) -> str:
    """Return a URL at which the user can choose a password, once and within three days."""
    path = reverse(
        "admin:set_password",
        args=[urlsafe_base64_encode(force_bytes(user.pk)), default_token_generator.make_token(user)],
    )
    return request.build_absolute_uri(path)


def may_get_password_link(member: Membership) -> bool:
    """Return whether this organization may set the member's password.

    A password opens all organizations of a user, so not if they are also in another one, or an operator.
    """
    memberships_elsewhere = Membership.unscoped.filter(user=member.user).exclude(organization=member.organization_id)
    with bypass_rls():  # other organizations' memberships are invisible in this one
        return member.user.is_active and not member.user.is_superuser and not memberships_elsewhere.exists()


@admin.register(Membership)
class MembershipAdmin(TenantAdmin):
    """Members of the user's organizations. Users without a leading role see only their own row."""

    area = Area.TEAM
    form = MemberForm
    list_display = ("name", "email", "role", "is_active", "wants_mail", "created_at")
    select_related = ("user",)
    list_filter = ("role", "is_active")
    search_fields = ("user__email", "user__first_name", "user__last_name")
    search_help_text = "Name or e-mail"
    ordering = ("user__first_name", "user__last_name", "id")
    lookups_of_links = ("user__id__exact",)  # "My e-mail notifications" in the menu
    actions_detail: tuple[str, ...] = ("make_password_link",)
    readonly_fields = ("name", "email", "user_id", "created_at")
    fields = ("name", "email", "role", "is_active", "wants_mail", "user_id", "created_at")
    invitation_fields = ("email", ("first_name", "last_name"), "role")

    def get_form(
        self, request: HttpRequest, obj: Membership | None = None, change: bool = False, **kwargs: Any
    ) -> type[ServiceForm]:
        """Return the member's form, or the invitation form for a new one."""
        return super().get_form(request, obj, change=change, **({} if obj else {"form": InvitationForm}), **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Membership | None = None) -> Fieldsets:
        """Return the member's fields, or the invitation's for a new one."""
        return [(None, {"fields": self.fields if obj else self.invitation_fields})]

    def get_readonly_fields(self, request: HttpRequest, obj: Membership | None = None) -> tuple[str, ...]:
        """Return the user's own data, and for users who don't manage this member also role and access."""
        if obj is None:
            return ()
        if self.has_manage_permission(request, obj):
            return self.readonly_fields
        return (*self.readonly_fields, "role", "is_active")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        """Return the members of organizations that the user owns or manages, and the user's own memberships."""
        own_memberships = Membership.unscoped.filter(
            user=current_user(request), organization__in=roles_by_organization(request)
        ).select_related("organization", *self.select_related)
        return super().get_queryset(request) | own_memberships

    def has_manage_permission(self, request: HttpRequest, obj: Membership | None = None) -> bool:
        """Return whether the user may change members and this member has no role above theirs."""
        is_leader = super().has_change_permission(request, obj)
        return is_leader and (obj is None or obj.role in assignable_roles(request, obj.organization_id))

    def has_view_permission(self, request: HttpRequest, obj: Membership | None = None) -> bool:
        """Return True for owners and managers, and for a user's own membership."""
        return super().has_view_permission(request, obj) or obj is None or obj.user_id == current_user(request).pk

    def has_change_permission(self, request: HttpRequest, obj: Membership | None = None) -> bool:
        """Return True for owners and managers, and for a user's own membership, where they choose notifications."""
        return self.has_manage_permission(request, obj) or (obj is not None and obj.user_id == current_user(request).pk)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Return whether the menu shows the page: to owners and managers only."""
        return super().has_view_permission(request)

    @admin.display(description="Name", ordering="user__first_name")
    def name(self, member: Membership) -> str:
        return str(member)

    @admin.display(description="E-mail", ordering="user__email")
    def email(self, member: Membership) -> str:
        return member.user.email

    @admin.display(description="User ID")
    def user_id(self, member: Membership) -> str:
        """Return the id by which the API and campaigns refer to the user."""
        return member.user_id

    def save_model(self, request: HttpRequest, obj: Membership, form: MemberForm, change: bool) -> None:
        """Change the member, or invite a new one."""
        data = form.cleaned_data
        if change:
            change_member(
                member=obj,
                # Users without the manage permission have only `wants_mail` in their form.
                role=data.get("role", obj.role),
                is_active=data.get("is_active", obj.is_active),
                wants_mail=data["wants_mail"],
            )
            return
        names = {"first_name": data["first_name"], "last_name": data["last_name"]}
        member = invite_member(organization=form.organization, email=data["email"], role=data["role"], **names)
        obj.pk, obj.user = member.pk, member.user

    def response_add(self, request: HttpRequest, obj: Membership, post_url_continue: str | None = None) -> HttpResponse:
        """Show a new user's password link. A user with a password needs none."""
        if obj.user.has_usable_password() or not may_get_password_link(obj):
            return super().response_add(request, obj, post_url_continue)
        return self.show_link(request, obj)

    @object_action(
        "Create a password link",
        icon="key",
        question="Create a link for the member to choose a new password?",
        when=may_get_password_link,
        permission="manage",
    )
    def make_password_link(self, request: HttpRequest, member: Membership, form: ConfirmationForm) -> HttpResponse:
        """Show a link for a member who has no password yet or has forgotten it."""
        return self.show_link(request, member)

    def show_link(self, request: HttpRequest, member: Membership) -> HttpResponse:
        """Return the page that shows the member's password link, once."""
        return secret_page(
            self,
            request,
            member,
            title="Password link",
            explanation=LINK_EXPLANATION,
            secret=password_link(request, member.user),
        )
