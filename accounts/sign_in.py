"""The sign-in form: limits on attempts, and who may sign in."""

from typing import Any

from django.contrib.auth import forms as auth_forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from unfold.forms import AuthenticationForm

from accounts.invitations import has_open_invitation
from accounts.passwords import hashing_for
from accounts.sign_in_limits import TOO_MANY_ATTEMPTS, is_sign_in_allowed, known_browser_id
from organizations.models import User


class SignInForm(AuthenticationForm):
    """The sign-in form, with the limits of `accounts.sign_in_limits`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Django sets a maximum length and doesn't check it. Normalizing a name takes time that grows with its square.
        self.fields["username"].validators.append(MaxLengthValidator(self.fields["username"].max_length))

    def clean(self) -> dict[str, object]:
        """Count the attempt, then check the password."""
        name = self.cleaned_data.get("username")
        if not name or not self.cleaned_data.get("password"):
            return super().clean()  # no password will be checked
        try:
            account = User.objects.get_by_natural_key(name)
        except User.DoesNotExist:
            account = None
        # Counted first, and for unknown accounts as well: the refusal must not tell which accounts exist.
        if not is_sign_in_allowed(self.request, name, account):
            raise ValidationError(TOO_MANY_ATTEMPTS)
        with hashing_for(stranger=not known_browser_id(self.request, account)):
            return super().clean()

    def confirm_login_allowed(self, user: User) -> None:
        """Refuse users who are neither an operator, nor an active member of an active organization, nor invited."""
        # Past Django's admin, which asks for `is_staff`: that decides nothing here.
        auth_forms.AuthenticationForm.confirm_login_allowed(self, user)
        if not user.is_superuser and not user.roles and not has_open_invitation(user):
            raise ValidationError("You are not a member of any active organization.")
