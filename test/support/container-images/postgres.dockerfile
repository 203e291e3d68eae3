# Stands in for postgres:18, with the version of PostgreSQL that Debian has: the paths, the user and the variables of the official image
# that compose.yaml depends on.
FROM debian-programs
COPY postgres-entry.sh /usr/local/bin/docker-entrypoint.sh
# Debian's Caddy may have the number of the user.
RUN userdel caddy \
  && usermod --uid 999 postgres \
  && chmod 0755 /usr/local/bin/docker-entrypoint.sh \
  && rm -rf /var/lib/postgresql \
  && install --directory --owner=postgres --group=postgres /var/lib/postgresql \
  && ln -s /usr/lib/postgresql/*/bin/* /usr/local/bin/
ENV PGDATA=/var/lib/postgresql/18/docker POSTGRES_USER=postgres
VOLUME /var/lib/postgresql
ENTRYPOINT ["docker-entrypoint.sh"]
