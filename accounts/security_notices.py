"""E-mails that tell a person about an event of their account, so that they notice what they did not do themselves."""

from django.core.mail import EmailMultiAlternatives

from accounts.sessions import describe_browser
from notifications.mail import build_email, format_local_time, single_line
from organizations.models import SecurityEventKind, SecurityNotice

# What happened, as the person reads it; other kinds by their label.
SENTENCES = {
    # Failed sign-ins are not mailed, only wrong passwords of somebody who is signed in already.
    SecurityEventKind.SIGN_IN_FAILED: "Somebody who is signed in to your account entered several wrong passwords",
    SecurityEventKind.TWO_FACTOR_FAILED: "Somebody entered your password and then several wrong codes",
    SecurityEventKind.RECOVERY_CODE_USED: "A recovery code was used to sign in",
}


def render(notice: SecurityNotice) -> EmailMultiAlternatives:
    """Return the e-mail. Nobody can unsubscribe from it: whoever has taken over an account would."""
    event, user = notice.event, notice.user
    sentence = SENTENCES.get(SecurityEventKind(event.kind), event.get_kind_display())
    context = {
        "sentence": sentence,
        "email": user.email,
        "when": format_local_time(event.created_at, user.time_zone),
        "address": event.address,
        "browser": describe_browser(event.user_agent) if event.user_agent else "",
    }
    subject = single_line(f"Security notice: {sentence}")
    return build_email(user.email, subject, "accounts/security_notice", context)
