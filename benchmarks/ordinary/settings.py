"""Our settings, with the renderer, the parser and the database options that a new project has."""

from typing import Any

from pipeline_backend.settings import *  # noqa: F403
from pipeline_backend.settings import DATABASES as OURS
from pipeline_backend.settings import REST_FRAMEWORK as OUR_FRAMEWORK

ROOT_URLCONF = "benchmarks.ordinary.urls"
WSGI_APPLICATION = "benchmarks.ordinary.wsgi.application"
# Connections are kept, as ours are.
DATABASES: dict[str, Any] = {"default": {**OURS["default"], "OPTIONS": {"connect_timeout": 3}}}
REST_FRAMEWORK = {
    **{
        name: OUR_FRAMEWORK[name]
        for name in (
            "DEFAULT_AUTHENTICATION_CLASSES",
            "DEFAULT_PERMISSION_CLASSES",
            "EXCEPTION_HANDLER",
            "UNAUTHENTICATED_USER",
        )
    },
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
}
