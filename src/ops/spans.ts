import type { Context, Span } from "@opentelemetry/api";
import type { SpanExporter } from "@opentelemetry/sdk-trace";
import { UsageError } from "../config/usage-error.ts";
import { asArray, asObject, asString, type JsonObject } from "../protocol/json.ts";
import { within } from "../transport/within.ts";
import type { Watcher } from "./connection.ts";

/** Turns, tool calls and permissions as spans (docs/operations.md lists them with their attributes). */
export interface Tracing {
  /** @param connection the connection's number in the log, where there are several */
  connected(connection?: number): Watcher;
  /** Exports what is left, and waits for that no longer than two seconds. */
  close(): Promise<void>;
}

export interface TracingOptions {
  /** Where the spans are sent by OTLP over HTTP, as JSON. */
  url: string;
  version: string;
  /** Called each time the exporting begins to fail. */
  onFault(message: string): void;
}

/** How long the end waits for the collector, in ms. */
const END_PATIENCE = 2000;

/** How much is kept of a value that an agent may choose freely, in characters. */
const LONGEST_VALUE = 200;

/** The path where a collector takes traces, when the URL has none of its own. */
const TRACES_PATH = "/v1/traces";

/**
 * The address in the value of `--otlp`, with the usual path where it has none.
 *
 * @throws UsageError when it is no URL of http or https
 */
export function parseCollector(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:")
    throw new UsageError(`--otlp: expected http://HOST:PORT or https://HOST:PORT, found ${JSON.stringify(text)}`);
  if (url.pathname === "/") url.pathname = TRACES_PATH;
  return url.href;
}

/** The work of one session that is shown: its turn, and what is open in it. */
interface Work {
  turn: Span;
  context: Context;
  /** By id; undefined for one that has ended. */
  toolCalls: Map<string, Span | undefined>;
  permissions: Map<unknown, { span: Span; options: unknown }>;
}

/** Loads the OpenTelemetry packages; they take what they need from their usual variables (`OTEL_…`). */
export async function createTracing({ url, version, onFault }: TracingOptions): Promise<Tracing> {
  const [api, core, sdk, resources, { OTLPTraceExporter }] = await Promise.all([
    import("@opentelemetry/api"),
    import("@opentelemetry/core"),
    import("@opentelemetry/sdk-trace"),
    import("@opentelemetry/resources"),
    import("@opentelemetry/exporter-trace-otlp-http"),
  ]);
  const { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = api;
  const given = resources.detectResources({ detectors: [resources.envDetector] });
  const own = resources.resourceFromAttributes({ "service.name": "acp-shift", "service.version": version });
  let failing = false;
  function exported(fault: string | undefined): void {
    if (fault !== undefined && !failing) onFault(fault);
    failing = fault !== undefined;
  }
  const exporter = watched(new OTLPTraceExporter({ url }), core.ExportResultCode.SUCCESS, exported);
  const provider = new sdk.TracerProvider({
    resource: own.merge(given),
    spanLimits: { attributeValueLengthLimit: LONGEST_VALUE },
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer("acp-shift", version);
  const propagator = new core.W3CTraceContextPropagator();
  const failed = { code: SpanStatusCode.ERROR };

  function connected(connection?: number): Watcher {
    const works = new Map<string, Work>();
    const common = connection === undefined ? {} : { "acp.connection": connection };

    function begin(work: Work, name: string): Span {
      return tracer.startSpan(name, {}, work.context);
    }

    /** What is still open when a turn ends, ends with it. */
    function end(sessionId: string, stopReason: string | undefined): void {
      const work = works.get(sessionId);
      if (work === undefined) return;
      works.delete(sessionId);
      for (const { span } of work.permissions.values()) span.end();
      for (const span of work.toolCalls.values()) span?.end();
      if (stopReason !== undefined) work.turn.setAttribute("acp.stop_reason", stopReason);
      if (stopReason === "error" || stopReason === "refused") work.turn.setStatus(failed);
      work.turn.end();
    }

    return {
      turnBegan(sessionId, params) {
        const { traceparent, tracestate } = asObject(params?.["_meta"]);
        const carrier = { traceparent: asString(traceparent), tracestate: asString(tracestate) };
        const parent = propagator.extract(ROOT_CONTEXT, carrier, api.defaultTextMapGetter);
        const attributes = { ...common, "acp.session.id": sessionId };
        const turn = tracer.startSpan("turn", { kind: SpanKind.SERVER, attributes }, parent);
        const context = trace.setSpan(parent, turn);
        works.set(sessionId, { turn, context, toolCalls: new Map(), permissions: new Map() });
      },
      turnEnded: end,
      toolCall(sessionId, update) {
        const work = works.get(sessionId);
        const id = asString(update["toolCallId"]);
        // Outside a turn it is history that is told again.
        if (work === undefined || id === undefined) return;
        const status = asString(update["status"]);
        const span = work.toolCalls.has(id) ? work.toolCalls.get(id) : begin(work, "tool_call");
        if (span === undefined) return;
        work.toolCalls.set(id, span);
        span.setAttribute("acp.tool_call.id", id);
        for (const name of ["kind", "name"]) {
          const value = asString(update[name]);
          if (value !== undefined) span.setAttribute(`acp.tool_call.${name}`, value);
        }
        if (status === undefined) return;
        span.setAttribute("acp.tool_call.status", status);
        if (!FINAL.has(status)) return;
        if (status === "failed") span.setStatus(failed);
        span.end();
        work.toolCalls.set(id, undefined);
      },
      permissionAsked(sessionId, key, params) {
        const work = works.get(sessionId);
        if (work === undefined) return;
        work.permissions.set(key, { span: begin(work, "permission"), options: params["options"] });
      },
      permissionAnswered(sessionId, key, outcome) {
        const asked = works.get(sessionId)?.permissions.get(key);
        if (asked === undefined) return;
        works.get(sessionId)?.permissions.delete(key);
        asked.span.setAttribute("acp.permission.outcome", outcomeOf(asked.options, outcome));
        asked.span.end();
      },
    };
  }

  return {
    connected,
    async close() {
      let taken = false;
      const ending = provider.shutdown().then(
        () => {
          taken = true;
        },
        () => {},
      );
      await within(END_PATIENCE, ending);
      if (!taken) exported("the collector has not taken the last spans");
    },
  };
}

const FINAL = new Set(["completed", "failed", "cancelled"]);

/** The kind of the option that was chosen, such as `allow_once`; else what the answer says, or `unanswered`. */
function outcomeOf(options: unknown, { outcome, optionId }: JsonObject): string {
  if (outcome !== "selected") return asString(outcome) ?? "unanswered";
  const chosen = asArray(options)
    .map(asObject)
    .find((option) => option["optionId"] === optionId);
  return asString(chosen?.["kind"]) ?? "selected";
}

/** An exporter that tells how each export went: what was wrong, or undefined. */
function watched(exporter: SpanExporter, success: number, exported: (fault: string | undefined) => void): SpanExporter {
  return {
    export(spans, done) {
      exporter.export(spans, (outcome) => {
        exported(outcome.code === success ? undefined : (outcome.error?.message ?? "the collector refused the spans"));
        done(outcome);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}
