#!/bin/sh
# The service `backup` of docker-compose.yml: dumps the database when it starts and every night at 3:15 UTC, and deletes
# dumps that are older than two weeks (docs/operate.md, "Backups"). The variables of pg_dump name the database.
set -u
umask 077
directory=/var/backups/pipeline

dump() {
    file=$directory/$(date +%F).dump
    # A dump gets its name only once it is complete, so `manage.py doctor` and a restore never take half of one.
    pg_dump --format=custom > "$file.tmp" && mv "$file.tmp" "$file" &&
        find "$directory" -name '*.dump*' -mtime +14 -delete
}

chmod 755 "$directory"
while true; do
    if dump; then
        sleep $((86400 - ($(date +%s) - 11700) % 86400))
    else
        echo "The dump failed, and is tried again in an hour" >&2
        sleep 3600
    fi
done
