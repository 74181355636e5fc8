"""Signing in with a password, before the code (`accounts.two_factor_views`): who may, and limits on attempts."""

from typing import Any

from django.contrib import admin
from django.contrib.auth import forms as auth_forms
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import LoginView
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.http import HttpResponse
from unfold.forms import AuthenticationForm

from accounts.invitations import has_open_invitation
from accounts.passwords import hashing_for
from accounts.sign_in_limits import TOO_MANY_ATTEMPTS, is_sign_in_allowed, known_browser_id, remember_browser
from accounts.two_factor_views import ask_for_code
from organizations.models import User


class SignInForm(AuthenticationForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Django sets a maximum length and doesn't check it. Normalizing a name takes time that grows with its square.
        self.fields["username"].validators.append(MaxLengthValidator(self.fields["username"].max_length))

    def clean(self) -> dict[str, object]:
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


class SignInView(LoginView):
    authentication_form = SignInForm
    template_name = "admin/login.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        site = admin.site.each_context(self.request)
        path = self.request.get_full_path()
        context = {**super().get_context_data(**kwargs), **site, "title": "Log in", "app_path": path}
        # A wrong password isn't a missing right, of which Django's template would tell a person who is signed in.
        return context | {"user": AnonymousUser()}

    def form_valid(self, form: auth_forms.AuthenticationForm) -> HttpResponse:
        user: User = form.get_user()
        if user.two_factor_enabled_at is not None:
            return ask_for_code(self.request, user, next_url=self.get_success_url())
        response: HttpResponse = super().form_valid(form)
        remember_browser(self.request, user, response)
        return response
