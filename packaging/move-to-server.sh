#!/usr/bin/env bash
# Copies all data from one Godwit database to another, for example from the embedded one to a server, in one snapshot and one transaction.
# Needs psql 15 or newer, whatever the versions of the servers are. pg_dump would have to be as new as the newer server.
#
#   move-to-server.sh OLD NEW      two connection strings for psql
#
# Run `godwit migrate` of the same version on NEW first; NEW must have no messages. OLD is only read.
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: move-to-server.sh OLD NEW" >&2; exit 2; }
old=$1
new=$2

ask() { psql -XAtq -v ON_ERROR_STOP=1 "$1" -c "$2"; }

version='select max(version) from schema_migrations'
[ "$(ask "$old" "$version")" = "$(ask "$new" "$version")" ] || { echo "the two databases have different schemas: run the same godwit's migrate on both" >&2; exit 1; }
[ "$(ask "$new" 'select count(*) from messages')" = 0 ] || { echo "the new database has messages already" >&2; exit 1; }

# Tables that other tables refer to come first.
tables=$(ask "$old" "
  select relname from pg_class
   where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition and relname <> 'schema_migrations'
   order by array_position(array['installation', 'tiers', 'accounts', 'environments', 'api_keys', 'api_key_hashes']::name[], relname) nulls last, relname")

# The weekly partitions of the old database, so that every row goes to the same partition.
weeks="
  select format('create table if not exists %I partition of %I %s%s;', part.relname, parent.relname, pg_get_expr(part.relpartbound, part.oid),
                ' with (' || array_to_string(part.reloptions, ', ') || ')')
    from pg_inherits join pg_class parent on parent.oid = inhparent join pg_class part on part.oid = inhrelid
   where parent.relkind = 'p' and part.relkind = 'r' and pg_get_expr(part.relpartbound, part.oid) <> 'DEFAULT'
   order by 1"

copies() {
  echo '\set ON_ERROR_STOP on'
  echo 'begin isolation level repeatable read read only;'
  # If this output is cut short, it lacks the commit, and the new database stays unchanged.
  echo "\\echo 'begin;'"
  echo "$weeks;"
  echo "\\echo 'truncate $(echo $tables | sed 's/ /, /g');'"
  for table in $tables; do
    columns=$(ask "$old" "select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute where attrelid = '$table'::regclass and attnum > 0 and not attisdropped and attgenerated = ''")
    echo "\\echo 'copy $table ($columns) from stdin;'"
    echo "copy (select $columns from $table) to stdout;"
    echo "\\echo '\\\\.'"
  done
  echo "\\echo 'commit;'"
  echo 'commit;'
}

copies | psql -XAtq "$old" | psql -Xq -v ON_ERROR_STOP=1 "$new"

for table in accounts api_keys messages events; do
  [ "$(ask "$old" "select count(*) from $table")" = "$(ask "$new" "select count(*) from $table")" ] || { echo "$table: not the same number of rows; was the old one in use?" >&2; exit 1; }
done
echo "moved: $(ask "$new" 'select count(*) from messages') messages, $(ask "$new" 'select count(*) from api_keys') keys"
