#!/bin/sh
# Dumps the database of a server without containers, and deletes dumps that are older than two weeks. Run by root:
# deploy/backup.sh [DIRECTORY] [DATABASE] (docs/operate.md, "Backups")
set -eu
umask 077
directory=${1:-/var/backups/pipeline} database=${2:-pipeline}
file=$directory/$(date +%F).dump

# A dump gets its name only once it is complete, so `manage.py doctor` and a restore never take half of one.
runuser -u postgres -- pg_dump --format=custom "$database" > "$file.tmp"
mv "$file.tmp" "$file"
find "$directory" -name '*.dump*' -mtime +14 -delete

# For the alert BackupTooOld, where Prometheus's node exporter is installed (docs/metrics.md).
metrics=/var/lib/prometheus/node-exporter
if [ -d "$metrics" ]; then
    echo "pipeline_backup_last_success_timestamp_seconds $(date +%s)" > "$metrics/pipeline_backup.tmp"
    chmod 644 "$metrics/pipeline_backup.tmp"
    mv "$metrics/pipeline_backup.tmp" "$metrics/pipeline_backup.prom"
fi
