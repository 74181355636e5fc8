"""Static files, served by WhiteNoise."""

from pipeline_backend.env import read_folder

STATIC_URL = "static/"
STATIC_ROOT = read_folder("STATIC_ROOT")
# Without collected files (local run, tests) WhiteNoise finds a file on request instead of scanning all at the start.
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = STATIC_ROOT is None
if STATIC_ROOT:
    # The name of a collected file has a hash of its content, so browsers keep it for years.
    STORAGES = {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
        "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
    }
