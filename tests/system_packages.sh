#!/usr/bin/env bash
# Tools the tests drive that pip cannot install. On Debian as root they are installed; elsewhere what is
# missing is named, and with CI=true that is a failure, so a green run has run everything.
set -euo pipefail

# command:package
tools=(
  chromium:chromium promtool:prometheus prometheus-alertmanager:prometheus-alertmanager java:default-jre-headless
  pgbouncer:pgbouncer node:nodejs npm:npm /usr/lib/postgresql/15/bin/postgres:postgresql-15
  redis-server:redis-server /usr/bin/aws:awscli /usr/bin/patroni:patroni /usr/bin/etcd:etcd-server
)
PATH="$PATH:/usr/sbin" # of daemons

missing=()
for tool in "${tools[@]}"; do
  command -v "${tool%%:*}" >/dev/null || missing+=("${tool##*:}")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
  echo "Installing: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  # Debian would start a server of its own with postgresql-15, which patroni needs as well.
  mkdir -p /etc/postgresql-common
  [ -e /etc/postgresql-common/createcluster.conf ] ||
    echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
  if apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; then exit 0; fi
fi

echo "Missing for the tests: ${missing[*]} (Debian package names)" >&2
[ "${CI:-}" != "true" ]
