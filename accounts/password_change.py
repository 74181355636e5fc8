"""The page for changing one's own password."""

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.views import PasswordChangeView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.urls import reverse_lazy
from unfold.forms import AdminOwnPasswordChangeForm

from accounts.sign_in_limits import TOO_MANY_ATTEMPTS, is_old_password_check_allowed, remember_browser
from foundation.db.timestamps import now
from organizations.isolation import bypass_rls
from organizations.models import SecurityEvent, SecurityEventKind, User
from organizations.permissions import current_user
from organizations.security_log import record_security_event

WRONG_GUESS = "Wrong old password, in a session"
WRONG_GUESSES_UNTIL_MAIL = 3


class OwnPasswordChangeForm(AdminOwnPasswordChangeForm):
    """Django's form, with a limit on guesses: a stolen session must not help to find out the old password."""

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        self.request = request
        super().__init__(current_user(request), *args, **kwargs)

    def clean_old_password(self) -> str:
        if not is_old_password_check_allowed(self.request, self.user):
            raise ValidationError(TOO_MANY_ATTEMPTS)
        try:
            password: str = super().clean_old_password()
        except ValidationError:
            record_wrong_old_password(self.user)
            raise
        return password


def record_wrong_old_password(user: User) -> None:
    """Log a wrong old password; after several in a day, the person gets an e-mail."""
    events = SecurityEvent.objects.filter(user=user, kind=SecurityEventKind.SIGN_IN_FAILED, details=WRONG_GUESS)
    with bypass_rls():  # the same for every role: who may read the log has no influence
        earlier = events.filter(created_at__gte=now() - timedelta(days=1)).count()
    is_mailed = earlier + 1 == WRONG_GUESSES_UNTIL_MAIL
    record_security_event(SecurityEventKind.SIGN_IN_FAILED, user=user, details=WRONG_GUESS, is_mailed=is_mailed)


class OwnPasswordChangeView(PasswordChangeView):
    form_class = OwnPasswordChangeForm
    success_url = reverse_lazy("admin:password_change_done")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {**super().get_context_data(**kwargs), **admin.site.each_context(self.request)}

    def get_form_kwargs(self) -> dict[str, Any]:
        arguments = super().get_form_kwargs()
        del arguments["user"]
        return arguments | {"request": self.request}

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        """Change the password and log it; this browser stays signed in, and known for the next sign-in."""
        response: HttpResponse = super().form_valid(form)
        record_security_event(SecurityEventKind.PASSWORD_CHANGED, user=form.user)
        remember_browser(self.request, form.user, response)
        return response
