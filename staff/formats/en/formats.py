"""Date and time formats of the admin: the same for everybody, with a 24-hour clock."""

DATE_FORMAT = "D j M Y"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = "D j M Y, H:i"
