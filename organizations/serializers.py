"""The members of an organization, and who made a change, as the API shows them."""

from foundation.api import sql_serializers as sql
from organizations.actors import ActorKind
from organizations.models import MemberRole, Membership


class UserSerializer(sql.SQLSerializer):
    """A member of the organization: host, setter or triager."""

    model = Membership

    first_name = sql.StringField("user__first_name")
    last_name = sql.StringField("user__last_name")
    email = sql.StringField("user__email")
    profile_image_url = sql.StringField("user__profile_image_url", null=True)
    id = sql.StringField("user_id", help_text="Begins with user_.")
    role = sql.ChoiceField(MemberRole)


class ActorSerializer(sql.SQLSerializer):
    """Who made a change: a staff member, an API key or the system."""

    component_name = "Actor"

    kind = sql.ChoiceField(ActorKind, "actor_kind")
    id = sql.StringField("actor_id", help_text="The user's id or the key's id; empty for the system.")
    name = sql.StringField("actor_name", help_text="The name when the change was made.")
