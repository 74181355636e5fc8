"""Pages of appointments: list, record, and what leads show of them."""
