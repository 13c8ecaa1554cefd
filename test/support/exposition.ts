// Reads Prometheus's text format, as strictly as promtool's check: what it takes exception to is thrown.

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export interface Family {
  name: string;
  help: string;
  type: string;
  samples: Sample[];
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"(?:,|$)/;
const SUFFIXES: Record<string, string[]> = {
  counter: [""],
  gauge: [""],
  histogram: ["_bucket", "_sum", "_count"],
  summary: ["", "_sum", "_count"],
};

/** The families of a text. @throws for anything but well-formed, complete and unique families */
export function readExposition(text: string): Map<string, Family> {
  if (!text.endsWith("\n")) throw new Error("the last line does not end");
  const families = new Map<string, Family>();
  let current: Family | undefined;
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const [, keyword, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (keyword === "HELP") {
      if (!NAME.test(name) || families.has(name)) throw new Error(`named twice, or no name: ${line}`);
      current = { name, help: rest, type: "", samples: [] };
      families.set(name, current);
    } else if (keyword === "TYPE") {
      if (current?.name !== name || current.type !== "" || !(rest in SUFFIXES))
        throw new Error(`out of place: ${line}`);
      current.type = rest;
    } else {
      const sample = readSample(line);
      const suffixes = SUFFIXES[current?.type ?? ""] ?? [];
      if (current === undefined || !suffixes.some((suffix) => sample.name === current?.name + suffix))
        throw new Error(`not of the family before it: ${line}`);
      current.samples.push(sample);
    }
  }
  for (const family of families.values()) check(family);
  return families;
}

function readSample(line: string): Sample {
  const [, name, labelText = "", written] = SAMPLE.exec(line) ?? [];
  if (name === undefined) throw new Error(`no sample: ${line}`);
  const labels: Record<string, string> = {};
  for (let rest = labelText; rest !== ""; ) {
    const [all, label, value] = LABEL.exec(rest) ?? [];
    if (all === undefined || label === undefined || value === undefined || label in labels)
      throw new Error(`labels that cannot be read: ${line}`);
    labels[label] = value;
    rest = rest.slice(all.length);
  }
  const value = written === "+Inf" ? Number.POSITIVE_INFINITY : written === "Nan" ? Number.NaN : Number(written);
  if (Number.isNaN(value) && written !== "Nan") throw new Error(`no number: ${line}`);
  return { name, labels, value };
}

function check({ name, help, type, samples }: Family): void {
  if (help === "" || type === "") throw new Error(`${name} has no help or no type`);
  const seen = samples.map((sample) => JSON.stringify([sample.name, Object.entries(sample.labels).sort()]));
  if (new Set(seen).size !== seen.length) throw new Error(`${name} has a sample twice`);
  if (type !== "histogram") return;
  for (const count of samples.filter((sample) => sample.name === `${name}_count`)) {
    const buckets = samples.filter(
      (sample) =>
        sample.name === `${name}_bucket` &&
        Object.entries(count.labels).every(([label, value]) => sample.labels[label] === value),
    );
    const values = buckets.map(({ value }) => value);
    if (values.some((value, index) => value < (values[index - 1] ?? 0))) throw new Error(`${name} is not cumulative`);
    const last = buckets.at(-1);
    if (last?.labels["le"] !== "+Inf" || last.value !== count.value) throw new Error(`${name} does not add up`);
  }
}

/** The value of one sample; undefined when there is none with exactly these labels. */
export function sampleOf(
  families: Map<string, Family>,
  name: string,
  labels: Record<string, string> = {},
): number | undefined {
  const family = families.get(name) ?? families.get(name.replace(/_(?:bucket|sum|count)$/, ""));
  const entries = Object.entries(labels);
  return family?.samples.find(
    (sample) =>
      sample.name === name &&
      Object.keys(sample.labels).length === entries.length &&
      entries.every(([label, value]) => sample.labels[label] === value),
  )?.value;
}
