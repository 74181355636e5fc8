"""The baseline's application, run by the product's server adapter."""

from django.core.wsgi import get_wsgi_application

from pipeline_backend.web.rsgi import RsgiApplication

application = get_wsgi_application()
server = RsgiApplication(application)
