#!/bin/sh
# Creates the cluster at the first start, runs the scripts of /docker-entrypoint-initdb.d in it, and becomes the server.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  (umask 077 && printf '%s' "$POSTGRES_PASSWORD" > /tmp/password)
  # The arguments are words.
  # shellcheck disable=SC2086
  initdb --username="$POSTGRES_USER" --pwfile=/tmp/password --pgdata="$PGDATA" $POSTGRES_INITDB_ARGS
  rm /tmp/password
  pg_ctl --pgdata="$PGDATA" --wait --options="-c listen_addresses=" start
  for script in /docker-entrypoint-initdb.d/*.sh; do PGPASSWORD=$POSTGRES_PASSWORD sh "$script"; done
  pg_ctl --pgdata="$PGDATA" --wait --mode=fast stop
fi
exec "$@"
