"""Pages of leads: list, record, duplicates and merging, erasing, search."""
