"""Members: invited by e-mail, given a role, sent away; nobody gives a role above their own."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.tokens import default_token_generator
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from unfold.widgets import UnfoldAdminEmailInputWidget, UnfoldAdminTextInputWidget

from organizations.admin.actions import object_action, secret_page
from organizations.admin.tenant import TenantAdmin, TenantForm
from organizations.isolation import bypass_rls
from organizations.models import Membership, User
from organizations.permissions import Area, assignable_roles, current_user, roles_by_organization
from organizations.services import change_member, invite_member

LINK_EXPLANATION = (
    "Give this link to the member: it lets them choose a password, once, within three days. It is shown this once."
)


class MemberForm(TenantForm):
    """A member's role and whether they are one still."""

    class Meta:
        model = Membership
        fields = ()
        help_texts = {"is_active": "An inactive member loses access at once."}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "role" in self.fields:
            role: Any = self.fields["role"]
            role.choices = [
                (name.value, name.label) for name in reversed(assignable_roles(self.request, self.organization.pk))
            ]


class InvitationForm(MemberForm):
    """A new member, by e-mail."""

    email = forms.EmailField(
        widget=UnfoldAdminEmailInputWidget, help_text="Who has an account already keeps it, and its name and password."
    )
    first_name = forms.CharField(required=False, max_length=255, widget=UnfoldAdminTextInputWidget)
    last_name = forms.CharField(required=False, max_length=255, widget=UnfoldAdminTextInputWidget)


def password_link(request: HttpRequest, user: User) -> str:
    """An address at which the user chooses a password: good once, and for three days."""
    path = reverse(
        "admin:set_password",
        args=[urlsafe_base64_encode(force_bytes(user.pk)), default_token_generator.make_token(user)],
    )
    return request.build_absolute_uri(path)


def may_get_password_link(member: Membership) -> bool:
    """Whether nobody else is responsible for the person: a password opens all organizations they are in."""
    elsewhere = Membership.unscoped.filter(user=member.user).exclude(organization=member.organization_id)
    with bypass_rls():
        return member.user.is_active and not member.user.is_superuser and not elsewhere.exists()


@admin.register(Membership)
class MembershipAdmin(TenantAdmin):
    """People of the organization."""

    area = Area.TEAM
    form = MemberForm
    list_display = ("name", "email", "role", "is_active", "wants_mail", "created_at")
    select_related = ("user",)
    list_filter = ("role", "is_active")
    search_fields = ("user__email", "user__first_name", "user__last_name")
    search_help_text = "Name or e-mail"
    ordering = ("user__first_name", "user__last_name", "id")
    actions_detail: tuple[str, ...] = ("make_password_link",)
    readonly_fields = ("name", "email", "user_id", "created_at")
    fields = ("name", "email", "role", "is_active", "wants_mail", "user_id", "created_at")
    invitation_fields = ("email", ("first_name", "last_name"), "role")

    def get_form(self, request: HttpRequest, obj: Membership | None = None, change: bool = False, **kwargs: Any) -> Any:
        """Inviting has its own form."""
        return super().get_form(request, obj, change=change, **({} if obj else {"form": InvitationForm}), **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Membership | None = None) -> Any:
        """Inviting asks for the person."""
        return [(None, {"fields": self.fields if obj else self.invitation_fields})]

    def get_readonly_fields(self, request: HttpRequest, obj: Membership | None = None) -> Any:
        """Who the person is, is theirs to change; what they are is not."""
        if obj is None:
            return ()
        return (
            self.readonly_fields
            if self.has_manage_permission(request, obj)
            else (*self.readonly_fields, "role", "is_active")
        )

    def get_queryset(self, request: HttpRequest) -> Any:
        """The team, for who leads it; and everybody's own row."""
        own = Membership.unscoped.filter(
            user=current_user(request), organization__in=roles_by_organization(request)
        ).select_related("organization", *self.select_related)
        return super().get_queryset(request) | own

    def has_manage_permission(self, request: HttpRequest, obj: Membership | None = None) -> bool:
        """By role; and nobody changes a member above them."""
        may_lead = super().has_change_permission(request, obj)
        return may_lead and (obj is None or obj.role in assignable_roles(request, obj.organization_id))

    def has_view_permission(self, request: HttpRequest, obj: Membership | None = None) -> bool:
        """The team's leaders, and everybody their own row."""
        return super().has_view_permission(request, obj) or obj is None or obj.user_id == current_user(request).pk

    def has_change_permission(self, request: HttpRequest, obj: Membership | None = None) -> bool:
        """The same; on their own row everybody chooses their mails."""
        return self.has_manage_permission(request, obj) or (obj is not None and obj.user_id == current_user(request).pk)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """The menu has the team for who leads it."""
        return super().has_view_permission(request)

    @admin.display(description="Name", ordering="user__first_name")
    def name(self, member: Membership) -> str:
        """The person's name."""
        return str(member)

    @admin.display(description="E-mail", ordering="user__email")
    def email(self, member: Membership) -> str:
        """The person's login."""
        return member.user.email

    @admin.display(description="User ID")
    def user_id(self, member: Membership) -> str:
        """How the interface and campaigns know the person."""
        return member.user_id

    def save_model(self, request: HttpRequest, obj: Membership, form: Any, change: bool) -> None:
        """Through the services, which keep the last owner."""
        data = form.cleaned_data
        if change:
            change_member(
                member=obj,
                role=data.get("role", obj.role),
                is_active=data.get("is_active", obj.is_active),
                wants_mail=data["wants_mail"],
            )
            return
        names = {"first_name": data["first_name"], "last_name": data["last_name"]}
        member = invite_member(organization=form.organization, email=data["email"], role=data["role"], **names)
        obj.pk, obj.user = member.pk, member.user

    def response_add(self, request: HttpRequest, obj: Membership, post_url_continue: Any = None) -> HttpResponse:
        """A new person's link, once; who has an account needs none."""
        if obj.user.has_usable_password() or not may_get_password_link(obj):
            return super().response_add(request, obj, post_url_continue)
        return self.show_link(request, obj)

    @object_action(
        "Make a password link",
        icon="key",
        question="Make a link by which the member can choose a new password?",
        when=may_get_password_link,
        permission="manage",
    )
    def make_password_link(self, request: HttpRequest, member: Membership, form: Any) -> HttpResponse:
        """For who has none yet, or has forgotten it."""
        return self.show_link(request, member)

    def show_link(self, request: HttpRequest, member: Membership) -> HttpResponse:
        """The link, once."""
        return secret_page(
            self,
            request,
            member,
            title="A link to choose a password",
            explanation=LINK_EXPLANATION,
            secret=password_link(request, member.user),
        )
