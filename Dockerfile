# The service as an image: the npm package, its exact dependencies, and Node 24 of the base image.

FROM node:24-slim AS build
WORKDIR /build
COPY . .
# The package is unpacked as npm would, beside the dependencies of the lock file. The Node that they bring is for machines without
# one: the base image has its own.
RUN npm ci --no-audit --no-fund \
  && npm pack --silent \
  && npm prune --omit=dev --no-audit --no-fund \
  && rm -rf node_modules/node-linux-* node_modules/.bin node_modules/godwit-sdk node_modules/godwit-console node_modules/godwit-site \
  && mkdir /app \
  && tar -xzf godwit-*.tgz -C /app --strip-components=1 \
  && mv node_modules /app/node_modules

FROM node:24-slim
# Named by number below, so that Kubernetes' runAsNonRoot can tell.
RUN groupadd --system --gid 10001 godwit \
  && useradd --system --uid 10001 --gid 10001 --home-dir /var/lib/godwit --shell /usr/sbin/nologin godwit \
  && install --directory --owner=godwit --group=godwit --mode=0700 /var/lib/godwit \
  && ln -s /app/bin/godwit /usr/local/bin/godwit
COPY --from=build /app /app
COPY packaging/healthcheck.mjs /app/packaging/healthcheck.mjs
# On all addresses of the container: godwit refuses to start like this until it has a certificate (GODWIT_TLS_CERT, GODWIT_TLS_KEY) or
# knows which proxy ends TLS (GODWIT_TRUSTED_PROXIES).
ENV NODE_ENV=production GODWIT_HOST=0.0.0.0 GODWIT_PORT=8080 GODWIT_DATA_DIR=/var/lib/godwit GODWIT_LOG=json
USER 10001:10001
WORKDIR /var/lib/godwit
# The embedded PostgreSQL, where DATABASE_URL names no other.
VOLUME /var/lib/godwit
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["node", "/app/packaging/healthcheck.mjs"]
# The launcher becomes node, which gets the signals as the first process.
ENTRYPOINT ["godwit"]
CMD ["serve"]
