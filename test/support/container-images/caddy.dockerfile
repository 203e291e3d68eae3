# Stands in for caddy:2: Debian's Caddy with the paths of the official image.
FROM debian-programs
ENV XDG_CONFIG_HOME=/config XDG_DATA_HOME=/data
CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]
