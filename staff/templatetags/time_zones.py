"""Time zones as people call them."""

from django import template

from accounts.time_zone import describe_zone

register = template.Library()
register.filter("zone", describe_zone)
