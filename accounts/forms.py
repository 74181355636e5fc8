"""The forms behind the links of account e-mails, with Unfold's input styles."""

from typing import Any

from django import forms
from django.contrib.auth.forms import SetPasswordForm
from unfold.widgets import BASE_INPUT_CLASSES, UnfoldAdminEmailInputWidget

from accounts.invitations import NewAccount
from organizations.models import User


class NewPasswordForm(SetPasswordForm):
    """Django's form for choosing a password."""

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        for field in self.fields.values():
            field.widget.attrs["class"] = " ".join(BASE_INPUT_CLASSES)


class NewAccountForm(NewPasswordForm):
    """Asks for the name and the password of the account of an invited person."""

    first_name = forms.CharField(max_length=255)
    last_name = forms.CharField(max_length=255, required=False)
    field_order = ("first_name", "last_name", "new_password1", "new_password2")

    def new_account(self) -> NewAccount:
        """Return the name and password that were entered for a new account."""
        data = self.cleaned_data
        return NewAccount(data["new_password1"], data["first_name"], data["last_name"])


class PasswordResetForm(forms.Form):
    """Asks for the address of the account."""

    email = forms.EmailField(label="E-mail", max_length=254, widget=UnfoldAdminEmailInputWidget)
