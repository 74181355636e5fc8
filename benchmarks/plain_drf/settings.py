"""The product's settings, with the renderer, parser and database options of a new project."""

from typing import Any

from pipeline_backend.settings import *  # noqa: F403
from pipeline_backend.settings import DATABASES as PRODUCT_DATABASES
from pipeline_backend.settings import REST_FRAMEWORK as PRODUCT_REST_FRAMEWORK

KEPT_SETTINGS = [
    "DEFAULT_AUTHENTICATION_CLASSES",
    "DEFAULT_PERMISSION_CLASSES",
    "EXCEPTION_HANDLER",
    "UNAUTHENTICATED_USER",
]

ROOT_URLCONF = "benchmarks.plain_drf.urls"
WSGI_APPLICATION = "benchmarks.plain_drf.wsgi.application"
# Only the options are replaced, so connections are persistent on both sides.
DATABASES: dict[str, Any] = {"default": {**PRODUCT_DATABASES["default"], "OPTIONS": {"connect_timeout": 3}}}
REST_FRAMEWORK = {
    **{name: PRODUCT_REST_FRAMEWORK[name] for name in KEPT_SETTINGS},
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
}
