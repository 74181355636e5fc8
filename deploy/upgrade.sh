#!/bin/sh
# Upgrades a server without containers while it serves requests (docs/operate.md, "Upgrading"). Run by root:
#   deploy/upgrade.sh v0.4.0   installs this tag or branch beside the running version, migrates, and restarts the services
#                              one by one
#   deploy/upgrade.sh back     restarts them with the version that ran before; the tables stay, because it works with them
set -eu
link=/opt/pipeline-backend versions=/opt/pipeline-backend-versions

say() { printf 'upgrade: %s\n' "$*" >&2; }

manage() { runuser -u pipeline -- "$new/deploy/manage.sh" "$@"; }

install_version() {
    new=$versions/$1-$(date +%Y%m%d-%H%M%S)
    say "installing $new ..."
    git clone --quiet --branch "$1" "$(git -C "$running" remote get-url origin)" "$new"
    ln -s "$(readlink -f "$running/.env")" "$new/.env"
    cd "$new"
    python3 -m venv .venv
    .venv/bin/pip install --quiet --require-hashes -r requirements.txt
}

# systemd starts a service in the folder that the link names.
switch_to() {
    ln -sfn "$running" "$versions/previous"
    ln -sfn "$1" "$link.new"
    mv -T "$link.new" "$link"
}

restart_web_server() {
    say "restarting $1 ..."
    systemctl restart "$1"
    for _ in $(seq 120); do
        if curl --fail --silent --output /dev/null --max-time 5 "http://127.0.0.1:$2/readyz"; then
            sleep 3 # the proxy looks for it once a second
            return
        fi
        sleep 1
    done
    say "$1 is not ready; the other web server goes on. Read: journalctl -u $1. To go back: deploy/upgrade.sh back"
    exit 1
}

restart_web_servers() {
    restart_web_server pipeline-web2 8001
    restart_web_server pipeline-web 8000
}

running=$(readlink -f "$link")
case ${1-} in
'')
    sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
back)
    new=$(readlink -f "$versions/previous")
    manage collectstatic --noinput
    switch_to "$new"
    restart_web_servers
    systemctl restart pipeline-worker
    ;;
*)
    install_version "$1"
    manage collectstatic --noinput
    manage migrate
    switch_to "$new"
    systemctl restart pipeline-worker
    restart_web_servers
    manage smoke_test
    ;;
esac
say "done: $new"
