"""Admin pages of leads, sources, custom fields and imports."""

from leads.admin import duplicates, imports, leads, privacy
from leads.imports import leads as lead_importer

__all__ = ["duplicates", "imports", "lead_importer", "leads", "privacy"]
