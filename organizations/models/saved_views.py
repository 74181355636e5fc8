"""Saved views of the admin's lists."""

from django.db import models
from django.db.models import UniqueConstraint

from organizations.isolation import TenantModel
from organizations.models.members import Membership


class SavedView(TenantModel):
    """A named address of the list of the model labelled `page`, such as `leads.lead`. Without an owner it is shared."""

    owner = models.ForeignKey(Membership, null=True, on_delete=models.CASCADE, related_name="+", db_index=False)
    page = models.CharField(max_length=60)
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=2000)

    class Meta(TenantModel.Meta):
        ordering = ["name"]
        constraints = [
            UniqueConstraint(
                fields=["organization", "page", "owner", "name"],
                nulls_distinct=False,
                name="one_saved_view_per_name",
            )
        ]

    def __str__(self) -> str:
        return self.name
