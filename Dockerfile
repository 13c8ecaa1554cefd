# The bridge as an image: `docker run -i IMAGE -- <agent command>`, or a base for an image that holds the agent.
ARG BASE_IMAGE=node:22-bookworm-slim

FROM ${BASE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY scripts ./scripts
COPY src ./src
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM ${BASE_IMAGE}
WORKDIR /opt/acp-shift
COPY --from=build /src/package.json ./
COPY --from=build /src/node_modules ./node_modules
COPY --from=build /src/dist ./dist
COPY config ./config
USER node
ENTRYPOINT ["node", "/opt/acp-shift/dist/cli.js"]
