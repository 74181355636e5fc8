"""Organizations, users, their memberships, and API keys."""

from organizations.models.api_keys import ApiKey, Scope
from organizations.models.members import CAN_BE_ASSIGNED, Invitation, MemberRole, Membership
from organizations.models.organizations import Organization, RowCount
from organizations.models.saved_views import SavedView
from organizations.models.security_log import SecurityEvent, SecurityEventKind, SecurityNotice
from organizations.models.sign_in import PasswordReset, RecoveryCode, Session, TotpDevice
from organizations.models.users import User

__all__ = [
    "CAN_BE_ASSIGNED",
    "ApiKey",
    "Invitation",
    "MemberRole",
    "Membership",
    "Organization",
    "PasswordReset",
    "RecoveryCode",
    "RowCount",
    "SavedView",
    "Scope",
    "SecurityEvent",
    "SecurityEventKind",
    "SecurityNotice",
    "Session",
    "TotpDevice",
    "User",
]
