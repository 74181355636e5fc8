"""Django REST framework, and drf-spectacular for the OpenAPI document."""

from pipeline_backend.settings.instance import ROOT, VERSION

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["organizations.authentication.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["organizations.permissions.HasScope"],
    "DEFAULT_PARSER_CLASSES": ["foundation.api.parsers.StrictJsonParser"],
    "DEFAULT_RENDERER_CLASSES": ["foundation.api.responses.JsonRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "foundation.api.responses.JsonOnlyNegotiation",
    "DEFAULT_SCHEMA_CLASS": "foundation.api.openapi.ApiSchema",
    "EXCEPTION_HANDLER": "foundation.api.exceptions.exception_handler",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Pipeline Backend",
    "DESCRIPTION": (ROOT / "foundation" / "api" / "introduction.md").read_text(),
    "VERSION": VERSION,
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_AUTHENTICATION": [],
    "SERVE_PERMISSIONS": [],
    "SORT_OPERATION_PARAMETERS": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "COMPONENT_SPLIT_PATCH": False,  # a PATCH has required fields, too
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"persistAuthorization": True, "displayRequestDuration": True},
    "POSTPROCESSING_HOOKS": ["foundation.api.openapi.complete_responses", "webhooks.openapi.add_webhooks"],
}
