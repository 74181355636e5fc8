"""The yardstick: the same interface as one would write it first with Django REST framework, on our own models.

Model serializers, `select_related` and `prefetch_related`, DRF's page-number pagination, `get_or_create`, `save`. The
key, the rate limits, the checks of what comes in, the middlewares and the web server are ours. It answers the same
objects and writes the same rows. Beside it stand views that answer nothing but bytes.
"""
