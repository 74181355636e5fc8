"""How the admin writes dates and times: in one way for everybody, with 24 hours."""

DATE_FORMAT = "j M Y"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = "j M Y, H:i"
