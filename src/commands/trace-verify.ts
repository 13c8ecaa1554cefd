import type { BridgeOptions } from "../bridge/state.ts";
import { applyProfile, findProfile, loadProfiles } from "../config/profiles.ts";
import { resolveSettings, type SettingName, type Settings } from "../config/settings.ts";
import type { TraceLine } from "../config/trace-line.ts";
import { UsageError } from "../config/usage-error.ts";
import { asArray, asString } from "../protocol/json.ts";
import { printable } from "../protocol/printable.ts";
import type { ValueDifference } from "../trace/difference.ts";
import type { Header } from "../trace/format.ts";
import { readTrace } from "../trace/read.ts";
import { createVerifier, type Difference, type Verifier } from "../trace/verify.ts";
import { decodeAgentLine } from "../transport/decode.ts";
import { createPrinter, reportProblem } from "./printer.ts";
import { loadSchema } from "./schemas.ts";

/** How many frames that differ are shown; the rest is counted. */
const SHOWN = 100;
/** How much of a value is shown, in characters. */
const VALUE_LENGTH = 200;

/**
 * `acp-shift trace verify`: the recorded input goes through today's core; shown is where the output is another.
 * @returns the exit status: 0 when nothing differs, 1 when something does or the record is not whole
 * @throws UsageError for a file that is no trace of a bridge from its beginning
 */
export async function traceVerify({ files }: TraceLine): Promise<number> {
  const printer = createPrinter(process.stdout);
  let verifier: Verifier | undefined;
  let header: Header | undefined;
  let count = 0;
  const tell = async (differences: readonly Difference[]) => {
    const shown = differences.slice(0, Math.max(0, SHOWN - count));
    count += differences.length;
    await printer.print(shown.flatMap(differenceText));
  };
  for await (const record of readTrace(files, { report: reportProblem })) {
    if (record.type === "header") header ??= record;
    if (header === undefined) continue;
    verifier ??= verifierOf(header);
    await tell(verifier.take(record));
  }
  if (header === undefined || verifier === undefined) throw new UsageError("nothing was recorded");
  await tell(verifier.end());
  const { events, frames, incomplete } = verifier.verified;
  if (count > SHOWN) await printer.print([`… and ${count - SHOWN} more`]);
  const compared = `${frames} frames compared, ${events} events given`;
  const by = header.redaction.on ? `; a frame's replaced secrets (${header.redaction.mark}) count as the same` : "";
  if (incomplete !== undefined)
    await printer.print([`not verified after record ${incomplete.after}: ${incomplete.reason}`]);
  await printer.print([count === 0 ? `no difference: ${compared}${by}` : `${count} differ: ${compared}${by}`]);
  return count === 0 && incomplete === undefined ? 0 : 1;
}

/** A core made as the recorded one was; what a later version can be told beside that has its default. */
function verifierOf(header: Header): Verifier {
  if (header.part !== 1) throw new UsageError(`the trace begins with part ${header.part}: name its first part too`);
  if (asString(header.bridge["runId"]) === undefined)
    throw new UsageError("the trace was not recorded by acp-shift: there is no bridge in it to verify");
  const { profile, setByUser, ...told } = header.bridge;
  const settings: Settings = {
    ...resolveSettings([]),
    ...told,
    setByUser: new Set(asArray(setByUser).map(String) as SettingName[]),
  };
  const options = { paths: undefined, ...settings, ...told } as unknown as BridgeOptions;
  return createVerifier(header, options, {
    schemaV1: () => loadSchema("v1/schema.json"),
    schemaV2: () => loadSchema("v2/schema.json"),
    behaviourOf(agentInfoName) {
      const [command] = options.agentCommand;
      const found = findProfile(loadProfiles(), { named: asString(profile), agentInfoName, command });
      return found === undefined ? settings : applyProfile(settings, found);
    },
    noiseOf: (line) => decodeAgentLine(Buffer.from(line)).noise,
  });
}

function differenceText({ cause, leg, seq, method, what, places }: Difference): string[] {
  const title = { changed: "differs", missing: "is not sent any more", extra: "was not sent" }[what];
  const name = printable([seq === undefined ? "–" : `${seq}`, leg, method ?? ""].join(" ").trimEnd());
  return [`${name} (after ${cause}) ${title}`, ...places.map((place) => `  ${placeText(place)}`)];
}

function placeText(place: ValueDifference): string {
  const { pointer, expected, actual } = place;
  const was = "expected" in place ? `recorded ${valueText(expected)}` : "not recorded";
  const is = "actual" in place ? `now ${valueText(actual)}` : "now missing";
  return printable(`${pointer === "" ? "" : `${pointer}: `}${was}, ${is}`);
}

function valueText(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length <= VALUE_LENGTH ? text : `${text.slice(0, VALUE_LENGTH)}… (${text.length} characters)`;
}
