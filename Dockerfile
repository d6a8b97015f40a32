# mcp-customs as an image. `.ci/container` runs every step below without a container engine.
#
#   docker build -t mcp-customs .
#
# For a reproducible base, pin it: --build-arg NODE_VERSION=24.21.0, or a digest in the FROM line.
ARG NODE_VERSION=24

FROM node:${NODE_VERSION}-trixie-slim AS node

# The compiler stays behind in this stage. No lifecycle scripts: `prepare` wants sources that are not there yet, and
# nobody else's script has any business here.
FROM node AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN --mount=type=cache,target=/root/.npm npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY config ./config
COPY scripts ./scripts
COPY src ./src
RUN npm run build

# A stage of its own, for npm's cache and logs to stay behind too. OpenTelemetry's packages and the client of Valkey and Redis are optional
# peers, which the image has: as peers that are not optional they are installed, in the versions of the lock file.
FROM node AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm pkg delete devDependencies peerDependenciesMeta 'peerDependencies[@modelcontextprotocol/sdk]'
RUN --mount=type=cache,target=/root/.npm npm install --ignore-scripts --no-audit --no-fund

FROM node
# PID 1 inherits the orphans of stdio servers, and Node does not reap them; tini does.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends tini \
 && rm -rf /var/lib/apt/lists/* \
 && install -d -o 1000 -g 1000 -m 0700 /var/lib/mcp-customs

# Owned by root: the relay can read itself, not change itself.
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json ./
COPY config ./config
COPY --from=build /app/dist ./dist

# XDG_STATE_HOME: without --audit the logs are /var/lib/mcp-customs/SERVER.TIME-PID.ndjson.
ENV NODE_ENV=production \
    XDG_STATE_HOME=/var/lib

# The only place that is written to: everything else may be mounted read-only.
VOLUME /var/lib/mcp-customs

# By number, for Kubernetes' runAsNonRoot cannot look up a name.
USER 1000:1000

# Clients; operators (/healthz, /readyz, /metrics).
EXPOSE 7400 7401

# There is no curl in the slim image. Alive, not ready: restarting the relay does not mend a server behind it.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:7401/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

ENTRYPOINT ["/usr/bin/tini", "--", "node", "/app/dist/cli.js"]
CMD ["serve", "--config", "/etc/mcp-customs/customs.yaml", "--listen", "0.0.0.0:7400", "--admin", "0.0.0.0:7401"]
