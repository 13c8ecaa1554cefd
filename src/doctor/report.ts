import { styleText } from "node:util";
import { printable } from "../protocol/printable.ts";
import type { Ability } from "./abilities.ts";
import type { AppliedProfile, Facts, Failure, Lines, SessionFacts, SessionOption } from "./facts.ts";
import type { Loss } from "./losses.ts";
import type { Violation } from "./violations.ts";

/** How wide the text may be, and whether it may be coloured. */
export interface Page {
  columns: number;
  colour: boolean;
}

type Style = Parameters<typeof styleText>[0];

/** A line of the report: text in one style after a label, wrapped to the page. */
interface Row {
  label: string;
  text: string;
  style?: Style;
}

interface Section {
  title: string;
  rows: Row[];
}

/** How wide the column of labels may be. */
const LEAST_LABEL_COLUMNS = 12;
const MOST_LABEL_COLUMNS = 28;
const BULLET = "-";
/** How many of a list's items a person is shown. */
const SHOWN = 8;
const STDERR_SHOWN = 5;
const STDERR_SHOWN_ON_FAILURE = 20;

/** What was found out, for a person to read: no line is wider than the page, unless a single word is. */
export function report(facts: Facts, page: Page): string {
  const sections: Section[] = [
    { title: "Agent", rows: agentRows(facts) },
    { title: "What a version 2 client gets", rows: facts.abilities.map(abilityRow) },
    { title: "Logging in", rows: facts.authMethods.map(({ id, name, type }) => row(id, loginText(id, name, type))) },
    { title: "Session", rows: facts.session === null ? [] : sessionRows(facts.session, facts.verdict.needsLogin) },
    { title: "What does not cross", rows: facts.losses.map(lossRow) },
    { title: "Frames against the schema", rows: facts.violations.map(violationRow) },
    { title: "Noise on stdout", rows: noiseRows(facts.noise) },
    { title: "Last lines on stderr", rows: stderrRows(facts) },
    { title: "Verdict", rows: verdictRows(facts) },
  ];
  return sections
    .filter(({ rows }) => rows.length > 0)
    .map(({ title, rows }) => `${heading(title, page)}${rowsText(rows, page)}`)
    .join("\n");
}

function agentRows({ command, agent, protocol, startupMs, profile }: Facts): Row[] {
  return [
    row("Command", command.words.map(quoted).join(" ")),
    ...commandRows(command),
    ...(agent === null ? [] : [row("Name", named(agent.title, agent.name)), row("Version", agent.version)]),
    ...protocolRows(protocol),
    ...(startupMs === null ? [] : [row("Start-up", `${startupMs} ms`)]),
    ...(agent === null || protocol.pairing === "passed-through"
      ? []
      : [row("Profile", profile === null ? "none" : profileText(profile))]),
  ];
}

function commandRows({ path, executable, searched, cwd }: Facts["command"]): Row[] {
  if (path !== null) return [row("Found at", executable ? path : `${path}, which may not be executed`)];
  if (searched.length === 1) return [row("Looked at", `${searched[0]}, in ${cwd}`)];
  return searched.map((directory, index) => row(index === 0 ? "Searched in" : "", directory));
}

/** What becomes of an agent for clients of either version. */
const PAIRINGS: Record<NonNullable<Facts["protocol"]["pairing"]>, string> = {
  translated: "translated; passed through to v1 clients",
  "passed-through": "passed through; translated for v1 clients",
};

function protocolRows({ agentVersion, pairing }: Facts["protocol"]): Row[] {
  if (agentVersion === null) return [];
  return [row("Protocol", `version ${agentVersion}${pairing === null ? "" : `, ${PAIRINGS[pairing]}`}`)];
}

function profileText({ name, settings, overridden }: AppliedProfile): string {
  const set = Object.entries(settings).map(([option, value]) => {
    const unit = typeof value === "number" ? "ms" : "";
    return `--${option} ${value}${unit}${overridden.includes(option) ? " (yours stands)" : ""}`;
  });
  return set.length === 0 ? name : `${name}: ${set.join(", ")}`;
}

const MARKS: Record<Ability["how"], { mark: string; style: Style; text: string }> = {
  native: { mark: "✔", style: "green", text: "" },
  bridge: { mark: "+", style: "cyan", text: "by acp-shift: " },
  none: { mark: "–", style: "yellow", text: "no, " },
  unknown: { mark: "?", style: "yellow", text: "not known: " },
};

function abilityRow({ name, how, note }: Ability): Row {
  const { mark, style, text } = MARKS[how];
  return { label: `${mark} ${name}`, text: `${text}${note ?? ""}`, style };
}

function loginText(id: string, name: string, type: string): string {
  const where = type === "agent" ? "" : ` (${type})`;
  return `${name === id ? "" : name}${where}`.trim();
}

function sessionRows(session: SessionFacts, needsLogin: boolean): Row[] {
  if (session.error !== null) {
    const { code, message } = session.error;
    const text = `${message}${code === null ? "" : ` (${code})`}`;
    return [row("Not opened", needsLogin ? `${text}: log in first` : text, "yellow")];
  }
  return [
    row("Opened", `in ${session.ms} ms`),
    ...session.options.map((option) => row(option.name, optionText(option))),
    row("Commands", session.commands.length === 0 ? "none" : some(session.commands.map(({ name }) => `/${name}`))),
    ...(session.closeError === null ? [] : [row("Close", session.closeError, "yellow")]),
  ];
}

function optionText({ value, values }: SessionOption): string {
  const others = values.filter((each) => each !== value);
  return others.length === 0 ? `${value}` : `${value}; or ${some(others)}`;
}

function lossRow({ what, where, count }: Loss): Row {
  return item(`${what}${times(count)}${where === null ? "" : `: ${where}`}`, "yellow");
}

function violationRow({ frame, fault, count }: Violation): Row {
  return item(`${frame}: ${fault}${times(count)}`, "yellow");
}

function noiseRows({ count, lines }: Lines): Row[] {
  const shown = lines.slice(0, STDERR_SHOWN);
  return [
    ...shown.map((line) => item(line, "yellow")),
    ...(count > shown.length ? [item(`… ${count - shown.length} more`, "yellow")] : []),
  ];
}

function stderrRows({ stderr, verdict }: Facts): Row[] {
  const shown = stderr.lines.slice(verdict.usable ? -STDERR_SHOWN : -STDERR_SHOWN_ON_FAILURE);
  return [
    ...(stderr.count > shown.length ? [item(`${stderr.count - shown.length} before …`, "dim")] : []),
    ...shown.map((line) => item(line, "dim")),
  ];
}

function verdictRows({ verdict, failure, authMethods, violations, noise }: Facts): Row[] {
  const warnings = [
    ...(violations.length > 0 ? ["it breaks the schema"] : []),
    ...(noise.count > 0 ? ["it writes noise on stdout"] : []),
  ];
  const but = warnings.length === 0 ? "." : `, but ${warnings.join(" and ")}; acp-shift copes.`;
  if (failure !== null) return failureRows(failure);
  if (!verdict.needsLogin) return [{ label: "✔ usable", text: `The agent can be used${but}`, style: "green" }];
  const how =
    authMethods.length > 0 ? "with one of its login methods" : "with the agent itself: it names no login method";
  return [{ label: "✔ usable", text: `After logging in ${how}${but}`, style: "yellow" }];
}

function failureRows({ message, phase, hint }: Failure): Row[] {
  return [
    { label: "✘ unusable", text: `${sentence(message)} (phase: ${phase})`, style: "red" },
    ...(hint === null ? [] : [row("", hint)]),
  ];
}

function row(label: string, text: string, style?: Style): Row {
  return { label, text, ...(style !== undefined && { style }) };
}

function item(text: string, style: Style): Row {
  return { label: BULLET, text, style };
}

function heading(title: string, { columns, colour }: Page): string {
  const line = `── ${title} ${"─".repeat(Math.max(0, columns - title.length - 5))}`;
  return `${paint("bold", line, colour)}\n`;
}

/** Labels in a column of their own, texts beside them; a label that is too wide has a line of its own. */
function rowsText(rows: readonly Row[], page: Page): string {
  const labels = rows.map(({ label }) => printable(label).length).filter((length) => length <= MOST_LABEL_COLUMNS);
  const isList = rows.every(({ label }) => label === BULLET);
  const width = Math.max(isList ? BULLET.length : LEAST_LABEL_COLUMNS, ...labels);
  return rows.map((each) => rowText(each, width, page)).join("");
}

function rowText({ label, text, style = [] }: Row, width: number, { columns, colour }: Page): string {
  const name = printable(label);
  const indent = " ".repeat(width + 3);
  const lines = wrapped(printable(text), columns - indent.length);
  const [first, ...rest] = name.length > width ? ["", ...lines] : lines;
  const begin = `  ${name.padEnd(width)} ${first}`.trimEnd();
  return [paint(style, begin, colour), ...rest.map((line) => indent + paint(style, line, colour))]
    .map((line) => `${line}\n`)
    .join("");
}

/** Text in lines of at most `width` characters, broken at spaces; words are never broken. */
function wrapped(text: string, width: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) ?? "";
    if (line === "") lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function paint(style: Style, text: string, colour: boolean): string {
  return colour && text !== "" ? styleText(style, text, { validateStream: false }) : text;
}

function some(values: readonly string[]): string {
  const more = values.length - SHOWN;
  return `${values.slice(0, SHOWN).join(", ")}${more > 0 ? `, … ${more} more` : ""}`;
}

function named(title: string | null, name: string): string {
  return title === null || title === name ? name : `${title} (${name})`;
}

/** A word of a command line as a person would type it. */
function quoted(word: string): string {
  return /^[\w@%+=:,./~[\]-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function times(count: number): string {
  return count === 1 ? "" : ` (${count} times)`;
}

/** Begins with a capital, unless the first word is a method's name. */
function sentence(text: string): string {
  return /^[\w$]+\//.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1);
}
