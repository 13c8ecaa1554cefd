// A state directory without a disk, for cores under test: what would be read back of what they had kept.
import type { RememberedSession } from "../../src/bridge/memory.ts";
import { createTranscript } from "../../src/store/transcript.ts";
import type { Act } from "./dialogue.ts";

/** What a store that got these records gives back; as text in between, as a disk does. */
export function remembered(acts: readonly Act[], sessionId = "s1"): RememberedSession {
  const messages = new Map<string, RememberedSession["messages"][number]>();
  const transcript = createTranscript();
  for (const act of acts) {
    if (act.type !== "keep" || act.sessionId !== sessionId) continue;
    const { record } = act;
    if (record.type === "message") messages.set(`${record.kind} ${record.id}`, record);
    if (record.type === "update") transcript.add(record.update);
  }
  return JSON.parse(
    JSON.stringify({
      sessionId,
      messages: [...messages.values()],
      transcript: transcript.updates(),
      transcriptComplete: true,
    }),
  ) as RememberedSession;
}
