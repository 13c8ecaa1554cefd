# acp-shift as an image. docs/container.md says how to use it: as a wrapper, in an agent's own image, as a sidecar.

# Debian or a relative of it, with Node and npm.
ARG BASE_IMAGE=node:22-bookworm-slim

FROM ${BASE_IMAGE} AS build
RUN apt-get update && apt-get install --yes --no-install-recommends tini
WORKDIR /src
COPY package.json package-lock.json ./
# Not `npm ci`: that also insists on optional packages of other platforms.
RUN npm install --ignore-scripts --no-audit --no-fund
COPY tsconfig*.json ./
COPY scripts ./scripts
COPY src ./src
RUN npm run build && npm prune --omit=dev --ignore-scripts --no-audit --no-fund
# Half of what the packages bring is for those who compile against them.
RUN find node_modules -type f -name "*.ts" -o -name "*.[cm]ts" -o -name "*.map" | xargs rm && mkdir /empty

FROM ${BASE_IMAGE}
# As PID 1 a program gets every orphan of the agent's, and Node buries none. tini does, and passes signals on; -s: also
# where it is not PID 1. It is linked statically, so that it runs in an agent's own image, whatever that is.
COPY --from=build /usr/bin/tini-static /opt/acp-shift/tini
COPY --from=build /usr/share/doc/tini/copyright /opt/acp-shift/tini.copyright
COPY --from=build /src/node_modules /opt/acp-shift/node_modules
COPY --from=build /src/dist /opt/acp-shift/dist
COPY package.json LICENSE scripts/healthcheck.mjs /opt/acp-shift/
COPY config /opt/acp-shift/config
# For --state-dir: a new volume that is mounted here takes over the owner.
COPY --from=build --chown=1000:1000 /empty /var/lib/acp-shift
# A number, so that Kubernetes can see that it is not root; in the images of Node it is the user `node`.
USER 1000:1000
HEALTHCHECK --interval=30s --timeout=5s --start-period=5s CMD ["node", "/opt/acp-shift/healthcheck.mjs"]
ENTRYPOINT ["/opt/acp-shift/tini", "-s", "--", "node", "/opt/acp-shift/dist/cli.js"]
