import { type Page, paint } from "../text.ts";
import type { Checked, Finding, Side } from "./check.ts";

const SEQS_SHOWN = 5;

/** What was found, for a person. */
export function checkReport({ frames, versions, incomplete, findings }: Checked, page: Page): string[] {
  const musts = findings.filter(({ level }) => level === "must").length;
  const spoken = (version: number | null) => (version === null ? "no version" : `version ${version}`);
  const isUnknown = versions.client === null && versions.agent === null;
  return [
    `${frames} frames; client and bridge speak ${spoken(versions.client)}, bridge and agent ${spoken(versions.agent)}.`,
    ...(incomplete ? [paint("yellow", "Records are missing: what depends on them is told as advice.", page)] : []),
    ...(isUnknown ? [paint("yellow", "No initialize was answered: no frame was held against a schema.", page)] : []),
    "",
    ...findings.flatMap((finding) => findingText(finding, page)),
    verdict(musts, findings.length - musts, page),
  ];
}

function findingText(
  { rule, level, by, leg, frame, at, text, seqs, says, page: source }: Finding,
  page: Page,
): string[] {
  const more = seqs.length > SEQS_SHOWN ? `, … ${seqs.length - SEQS_SHOWN} more` : "";
  const where = `${seqs.length === 1 ? "record" : `${seqs.length} times: records`} ${seqs.slice(0, SEQS_SHOWN).join(", ")}${more}`;
  const style = level === "must" ? "red" : "yellow";
  return [
    `${paint(style, `${level === "must" ? "✘" : "!"} ${NAMES[by]}`, page)}  ${frame}${at === "" ? "" : ` ${at}`} ${paint("bold", text, page)}`,
    paint("dim", `    ${rule}: ${says} (${source})`, page),
    paint("dim", `    ${where}, ${leg}`, page),
    "",
  ];
}

const NAMES: Record<Side, string> = { client: "client", agent: "agent ", bridge: "bridge" };

function verdict(musts: number, shoulds: number, page: Page): string {
  const advice =
    shoulds === 0 ? "" : ` ${shoulds} ${shoulds === 1 ? "thing is" : "things are"} against its advice or uncertain.`;
  if (musts === 0) return `${paint("green", "✔ Nobody broke a rule of the protocol.", page)}${advice}`;
  return `${paint("red", `✘ The protocol was broken in ${musts} ${musts === 1 ? "way" : "ways"}.`, page)}${advice}`;
}
