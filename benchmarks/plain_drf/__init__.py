"""The baseline: the same API written the usual way with Django REST framework, on the same models.

It uses model serializers, `select_related` and `prefetch_related`, page-number pagination, `get_or_create` and `save`.
API keys, rate limits, input serializers, middlewares and the web server are those of the product. It returns the same
objects and writes the same rows. There is also a "hello" view, which returns bytes and does nothing else.
"""
