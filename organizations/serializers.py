"""The members of an organization, as the API shows them."""

from organizations.models import MemberRole, Membership
from pipeline_backend.api import sql_serializers as sql


class UserSerializer(sql.SQLSerializer):
    """A member of the organization: host, setter or triager."""

    model = Membership

    first_name = sql.StringField("user__first_name")
    last_name = sql.StringField("user__last_name")
    email = sql.StringField("user__email")
    profile_image_url = sql.StringField("user__profile_image_url", null=True)
    id = sql.StringField("user_id", help_text="Begins with user_.")
    role = sql.ChoiceField(MemberRole)
