"""Organizations, users, their memberships, and API keys."""

from organizations.models.members import (
    CAN_BE_ASSIGNED,
    IS_ACTIVE_MEMBER,
    MEMBER_NAME,
    Invitation,
    MemberRole,
    Membership,
    SavedView,
)
from organizations.models.organizations import ApiKey, Move, Organization, RowCount, Scope, StoredResponse
from organizations.models.security_log import SecurityEvent, SecurityEventKind, SecurityNotice
from organizations.models.sign_in import PasswordReset, RecoveryCode, Session, TotpDevice
from organizations.models.users import User
