"""The members of an organization, and who made a change, as the API shows them."""

from foundation.api import sql_serializers as sql
from organizations.actors import ActorKind
from organizations.models import CAN_BE_ASSIGNED, IS_ACTIVE_MEMBER, MEMBER_NAME, MemberRole, Membership, Scope


class UserSerializer(sql.SQLSerializer):
    """A member of the organization: host, setter or triager."""

    model = Membership

    first_name = sql.StringField("user__first_name", help_text="First name.")
    last_name = sql.StringField("user__last_name", help_text="Last name.")
    email = sql.StringField("user__email", help_text="E-mail address.")
    profile_image_url = sql.StringField("user__profile_image_url", null=True, help_text="Picture.")
    id = sql.StringField("user_id", help_text="Begins with user_.")
    role = sql.OpenChoiceField(MemberRole, help_text="The member's role.")


class MemberSerializer(sql.SQLSerializer):
    """A member of the organization, active or not."""

    model = Membership

    id = sql.StringField("user_id", help_text="Begins with user_.")
    name = sql.ComputedField(MEMBER_NAME, help_text="First and last name, or the e-mail address if both are empty.")
    email = sql.StringField("user__email", help_text="E-mail address.")
    role = sql.OpenChoiceField(MemberRole, help_text="The member's role.")
    time_zone = sql.StringField("user__time_zone", help_text="IANA name, such as Europe/Berlin.")
    is_active = sql.ConditionField(IS_ACTIVE_MEMBER, help_text="False for a former member.")
    can_be_named = sql.ConditionField(
        CAN_BE_ASSIGNED, help_text="Whether requests can name the member as host, setter or triager."
    )
    updated_at = sql.DateTimeField(help_text="When one of these values last changed.")


class ActorSerializer(sql.SQLSerializer):
    """Who made a change: a staff member, an API key or the system."""

    kind = sql.OpenChoiceField(ActorKind, "actor_kind", help_text="What kind of actor it is.")
    id = sql.StringField("actor_id", help_text="The user's id or the key's id; empty for the system.")
    name = sql.StringField("actor_name", help_text="The name when the change was made.")


class OrganizationSerializer(sql.SQLSerializer):
    """The organization that the key belongs to."""

    id = sql.UUIDField(help_text="The organization's id, as in events.")
    name = sql.StringField(help_text="Its name.")
    country = sql.StringField(help_text="ISO 3166-1 alpha-2. Phone numbers without + are read as numbers of it.")
    time_zone = sql.StringField(help_text="IANA name, such as Europe/Berlin.")
    is_test = sql.BooleanField(help_text="Whether it is a test organization, whose data can be reset.")


class KeySerializer(sql.SQLSerializer):
    """The key of the request."""

    id = sql.StringField(help_text="The key's id, as in the actor of events. It isn't secret.")
    name = sql.StringField(help_text="Its name.")
    scopes = sql.StringListField(help_text=f"Any of {', '.join(Scope.values)}; more may be added.")
    expires_at = sql.DateTimeField(null=True, help_text="Null if it doesn't expire.")


class LimitsSerializer(sql.SQLSerializer):
    """Limits of requests."""

    requests_per_minute = sql.IntegerField(help_text="Requests in each window of 60 seconds, over all keys together.")
    body_bytes = sql.IntegerField(help_text="The largest body of a request, in bytes.")
    page_limit = sql.IntegerField(help_text="The largest limit of a page.")


class MeSerializer(sql.SQLSerializer):
    """What a key gives access to."""

    organization = sql.NestedObject(OrganizationSerializer, help_text="The key's organization.")
    key = sql.NestedObject(KeySerializer, help_text="The key of the request.")
    limits = sql.NestedObject(LimitsSerializer, help_text="Limits of requests.")
    last_event_id = sql.UUIDField(
        null=True, help_text="The newest event of the events list, to be passed as after; null without events."
    )
    version = sql.StringField(help_text="The version of the service that runs.")
