"""The web server's way in."""

from django.core.wsgi import get_wsgi_application

from pipeline_backend.rsgi import Door

application = get_wsgi_application()
server = Door(application)
