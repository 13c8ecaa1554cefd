import type { Settings } from "../config/settings.ts";
import type { Recorder } from "../trace/recorder.ts";

/**
 * The recorder `--trace` asks for; undefined, and nothing of it loaded, without.
 *
 * @param tell gets the message that recording has begun to fail
 * @throws UsageError when the file cannot be opened
 */
export async function recorderFor(settings: Settings, tell: (text: string) => void): Promise<Recorder | undefined> {
  if (settings.trace === undefined) return undefined;
  const { openRecorder } = await import("../trace/recorder.ts");
  return openRecorder({
    target: settings.trace,
    limit: settings.traceLimit,
    redact: settings.redact,
    onFault: (path, { message }) =>
      tell(`acp-shift: the trace cannot be written to ${path} for now, the conversation goes on: ${message}`),
  });
}
