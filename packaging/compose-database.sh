#!/bin/sh
# Runs once, when the PostgreSQL of compose.yaml creates its cluster: an ordinary role for godwit that owns its database, and no password
# for the superuser. The superuser is reached inside the container only: docker compose exec postgres psql -U postgres
set -eu
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --set password="$POSTGRES_PASSWORD" --username "$POSTGRES_USER" --dbname postgres <<'SQL'
create role godwit login password :'password';
create database godwit owner godwit;
alter role current_user password null;
SQL
# The first line that fits counts.
hba=$(cat "$PGDATA/pg_hba.conf")
printf 'local all %s peer\n%s\n' "$POSTGRES_USER" "$hba" > "$PGDATA/pg_hba.conf"
