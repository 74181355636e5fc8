"""What the interface shows of people (interface 2.3)."""

from organizations.models import Membership, Role
from pipeline_backend.api.shapes import Choice, Shape, Text


class UserShape(Shape):
    """A member of the organization: host, setter or triager (interface 2.3)."""

    model = Membership

    first_name = Text("user__first_name")
    last_name = Text("user__last_name")
    email = Text("user__email")
    profile_image_url = Text("user__profile_image_url", null=True)
    id = Text("user_id", help="Begins with user_.")
    role = Choice(Role)
