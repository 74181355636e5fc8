"""The admin page of invitations: invite people by e-mail, send an invitation again, withdraw it."""

from operator import attrgetter

from django.contrib import admin
from django.http import HttpRequest
from unfold.decorators import display

from accounts.invitations import allow_again, invite, send_again, withdraw
from organizations.models import Invitation
from organizations.permissions import Area, assignable_roles, current_user, is_operator
from staff.accounts.members import RoleForm
from staff.toolkit.actions import ConfirmationForm, object_action
from staff.toolkit.fields import TextField
from staff.toolkit.forms import accepted_email
from staff.toolkit.tenant import TenantAdmin


class InvitationForm(RoleForm):
    class Meta:
        help_texts = {"email": "This address gets an e-mail with a link. The person becomes a member by accepting."}

    def clean_email(self) -> str:
        return accepted_email(self, "email")


class ConsentForm(ConfirmationForm):
    consent = TextField(
        max_length=300,
        label="How and when did they agree?",
        help_text="The security log shows it to the organization's owners.",
    )


@admin.register(Invitation)
class InvitationAdmin(TenantAdmin):
    empty_text = "Add one for each person of your team; they choose their own password."
    area = Area.TEAM
    can_change = False
    form = InvitationForm
    list_display = ("email", "role", "status_label", "invited_by", "last_sent_at", "sent_count", "expires_at")
    select_related = ("invited_by",)
    list_filter = ("role",)
    search_fields = ("email",)
    search_help_text = "E-mail"
    actions_detail = ("send_again", "withdraw", "allow_again")
    add_fieldsets = ((None, {"fields": ("email", "role")}),)
    fields = (
        "email",
        "role",
        "status_label",
        ("invited_by", "created_at"),
        ("last_sent_at", "sent_count", "delivery"),
        "expires_at",
        ("accepted_at", "declined_at", "withdrawn_at", "unsubscribed_at"),
    )

    def has_manage_permission(self, request: HttpRequest, obj: Invitation | None = None) -> bool:
        return obj is not None and obj.role in assignable_roles(request, obj.organization_id)

    def has_operator_permission(self, request: HttpRequest, obj: Invitation | None = None) -> bool:
        return is_operator(request)

    @display(  # type: ignore[untyped-decorator]
        description="State", label={"Open": "info", "Accepted": "success", "Declined": "danger", "Withdrawn": "warning"}
    )
    def status_label(self, invitation: Invitation) -> str:
        return invitation.status

    @admin.display(description="E-mail's delivery")
    def delivery(self, invitation: Invitation) -> str:
        state = invitation.get_state_display()
        return f"{state}: {invitation.last_error}" if invitation.last_error else state

    def save_model(self, request: HttpRequest, obj: Invitation, form: InvitationForm, change: bool) -> None:
        invite(
            id=obj.pk,
            organization=form.organization,
            email=form.cleaned_data["email"],
            role=form.cleaned_data["role"],
            invited_by=current_user(request),
            assignable=assignable_roles(request, form.organization.pk),
        )

    @object_action(
        "Send again",
        icon="forward_to_inbox",
        question="Mail the invitation once more? It is then valid for another seven days.",
        is_possible=attrgetter("is_open"),
        permission="manage",
    )
    def send_again(self, request: HttpRequest, invitation: Invitation, form: ConfirmationForm) -> None:
        send_again(invitation=invitation, invited_by=current_user(request))

    @object_action(
        "Withdraw",
        icon="block",
        question="Withdraw this invitation? Its link stops working at once.",
        is_possible=attrgetter("is_open"),
        permission="manage",
        danger=True,
    )
    def withdraw(self, request: HttpRequest, invitation: Invitation, form: ConfirmationForm) -> None:
        withdraw(invitation=invitation)

    @object_action(
        "Allow invitations again",
        icon="undo",
        question="The person has asked for no more invitations. Only if they themselves want to be invited again:",
        form=ConsentForm,
        is_possible=attrgetter("unsubscribed_at"),
        permission="operator",
    )
    def allow_again(self, request: HttpRequest, invitation: Invitation, form: ConsentForm) -> None:
        allow_again(invitation=invitation, consent=form.cleaned_data["consent"])
