import type { Settings } from "../config/settings.ts";
import { type Logger, loggerOf } from "../logging.ts";
import { type Watch, watch } from "../ops/connection.ts";
import type { Endpoint } from "../ops/endpoint.ts";
import type { Meter } from "../ops/meter.ts";
import type { Tracing } from "../ops/spans.ts";
import type { JsonObject } from "../protocol/json.ts";

/** What `--ops` and `--otlp` ask for. Without them only turns are followed, and nothing more is loaded. */
export interface Ops {
  /**
   * A connection was accepted.
   *
   * @param connection its number in the log, where there are several
   */
  connected(connection?: number): Watch;
  /** A logger that counts what it is told, and passes it on. */
  listening(log: Logger): Logger;
  /** Ends it all, when no connection is left; waits no longer than two seconds. */
  close(): Promise<void>;
}

/**
 * @param closedTo why no client is let in now, in a few words; undefined when one is
 * @throws UsageError when an option cannot be used, or its address not listened on
 */
export async function openOps(settings: Settings, log: Logger, closedTo: () => string | undefined): Promise<Ops> {
  const tracing = await tracingOf(settings, log);
  const { meter, endpoint } = await endpointOf(settings, log, closedTo);
  return {
    connected(connection) {
      const watchers = [meter?.connected(), tracing?.connected(connection)];
      const watched = watch(watchers.filter((watcher) => watcher !== undefined));
      return {
        ...watched,
        ended() {
          watched.ended();
          meter?.disconnected();
        },
      };
    },
    listening: (to) => (meter === undefined ? to : counted(to, meter)),
    async close() {
      await Promise.all([endpoint?.close(), tracing?.close()]);
    },
  };
}

async function tracingOf({ otlp }: Settings, log: Logger): Promise<Tracing | undefined> {
  if (otlp === undefined) return undefined;
  const { createTracing, parseCollector } = await import("../ops/spans.ts");
  const url = parseCollector(otlp);
  return createTracing({
    url,
    version: await ownVersion(),
    onFault: (message) => log.warn("otlp-fault", { message }),
  });
}

async function endpointOf(
  settings: Settings,
  log: Logger,
  closedTo: () => string | undefined,
): Promise<{ meter?: Meter; endpoint?: Endpoint }> {
  if (settings.ops === undefined) return {};
  const [{ createMeter }, { openEndpoint, parseAddress }] = await Promise.all([
    import("../ops/meter.ts"),
    import("../ops/endpoint.ts"),
  ]);
  const address = parseAddress(settings.ops);
  const mayScrape = await scraperCheck(settings);
  const meter = await createMeter(await ownVersion());
  const endpoint = await openEndpoint({ address, meter, mayScrape, closedTo });
  log.info("ops-listening", { url: endpoint.url });
  return { meter, endpoint };
}

async function ownVersion(): Promise<string> {
  const { versions } = await import("../trace/recorder.ts");
  return versions().acpShift;
}

/** Whether an `Authorization` header may see the metrics; undefined when no token is asked for. */
async function scraperCheck({
  opsTokenFile,
}: Settings): Promise<((header: string | undefined) => boolean) | undefined> {
  if (opsTokenFile === undefined) return undefined;
  const { bearerIn, readToken } = await import("../remote/token.ts");
  const warn = (text: string) => process.stderr.write(`acp-shift: ${text}\n`);
  const token = readToken(opsTokenFile, warn, "--ops-token-file");
  return (header) => token.matches(bearerIn(header));
}

function counted(log: Logger, meter: Meter): Logger {
  return loggerOf((level) => (event, details) => {
    log[level](event, details);
    if (event === "connection-refused") meter.refused(refusalIn(details));
    else meter.noted(event);
  });
}

/** Why a client was refused, in one word: the option that wants it so, where there is one. */
function refusalIn({ reason, status }: JsonObject = {}): string {
  if (status === 401) return "token-file";
  return /\(--([a-z-]+)/.exec(String(reason))?.[1] ?? "other";
}
