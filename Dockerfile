# Packages and static files are prepared here; the image below has only the results.
FROM python:3.13-slim AS build
ENV PATH=/venv/bin:$PATH STATIC_ROOT=/static
WORKDIR /app
RUN python -m venv --without-pip /venv
# Before the source, so that a change of the source doesn't install the packages again.
COPY requirements.txt .
RUN pip --python /venv/bin/python install --no-cache-dir --require-hashes -r requirements.txt
COPY . .
# collectstatic needs valid settings, but uses none of these values. They exist only for this command.
RUN SECRET_KEY=build FIELD_ENCRYPTION_KEYS=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= \
    DATABASE_URL=postgres://build/build REDIS_URL=redis://build EMAIL_URL=smtp://build \
    python manage.py collectstatic --noinput

FROM python:3.13-slim
# No .pyc files: the user below may not write to /app.
ENV PATH=/venv/bin:$PATH STATIC_ROOT=/static PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /app
# Nothing is installed after this.
RUN pip uninstall --yes --root-user-action ignore pip && useradd --system --no-create-home --uid 10001 pipeline
COPY --from=build /venv /venv
COPY --from=build /static /static
COPY . .
USER 10001
EXPOSE 8000
# Not /healthz, which also fails if the worker is down: that is no reason to restart the web server.
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz', timeout=5)"]
CMD ["python", "-m", "pipeline_backend.web", "--host", "0.0.0.0", "--port", "8000"]
