FROM python:3.11-slim

# No .pyc files: the user below may not write to /app.
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /app
RUN useradd --system --no-create-home pipeline

# Before the source, so that a change of the source doesn't install the packages again.
COPY requirements.txt .
RUN pip install --no-cache-dir --require-hashes -r requirements.txt

COPY . .
# collectstatic needs valid settings, but uses none of these values. They exist only for this command.
RUN SECRET_KEY=build FIELD_ENCRYPTION_KEYS=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= \
    DATABASE_URL=postgres://build/build REDIS_URL=redis://build \
    python manage.py collectstatic --noinput

USER pipeline
EXPOSE 8000
CMD ["python", "-m", "pipeline_backend.web", "--host", "0.0.0.0", "--port", "8000"]
