"""Django REST framework, and drf-spectacular for the OpenAPI document."""

from pipeline_backend.settings.instance import BASE_URL, ROOT, VERSION

REPOSITORY = "https://github.com/pipeline-backend/pipeline-backend"

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
    "LICENSE": {"name": "MIT", "identifier": "MIT"},
    "CONTACT": {"name": "Pipeline Backend", "url": f"{REPOSITORY}/issues"},
    "EXTERNAL_DOCS": {"description": "The guides", "url": f"{REPOSITORY}/tree/main/docs"},
    "SERVERS": [{"url": BASE_URL}],
    "TAGS": [
        {"name": "Appointments", "description": "Booked calls with leads."},
        {"name": "Opt-ins", "description": "Submissions of forms."},
        {"name": "Leads", "description": "The people whom the organization sells to."},
        {"name": "Sales statuses", "description": "The statuses of leads, and the outcomes of appointments."},
        {"name": "Look-ups", "description": "The key itself, and what requests and objects refer to by id or name."},
        {"name": "Events", "description": "Everything that happened, in order."},
        {"name": "Webhook endpoints", "description": "URLs that receive events, and the topics that they can have."},
        {
            "name": "Webhooks",
            "description": "The requests that the service sends to your endpoints, one for each event.",
        },
    ],
    "OAS_VERSION": "3.1.0",
    "SERVE_AUTHENTICATION": [],
    "SERVE_PERMISSIONS": [],
    "SORT_OPERATION_PARAMETERS": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "COMPONENT_SPLIT_PATCH": False,  # a PATCH has required fields, too
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"persistAuthorization": True, "displayRequestDuration": True},
    "POSTPROCESSING_HOOKS": ["webhooks.openapi.add_webhooks", "foundation.api.openapi.complete_operations"],
}
