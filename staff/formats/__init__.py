"""How the admin writes dates and times (FORMAT_MODULE_PATH)."""
