#!/bin/sh
# Runs manage.py on a server without containers, with the settings of .env: sudo -u pipeline deploy/manage.sh doctor
set -eu
cd "$(dirname "$0")/.."
set -a
. ./.env
set +a
exec .venv/bin/python manage.py "$@"
