/** From the figures of many runs to medians, ratios and tables. */

/**
 * The figures that count. `figure` of acp-shift (or of `of`) in `scenario`, divided by the same of `over`, or as it is where there is
 * no `over`. `floor` and `aim`: what the ratio must and should reach; `more: true` where more is better.
 */
export const targets = [
  { scenario: "chunks", figure: "messages/s", over: "JSON relay", more: true, floor: 0.8, aim: 1 },
  { scenario: "chunks", figure: "CPU per message (µs)", over: "JSON relay", floor: 1.3, aim: 1 },
  { scenario: "chunks with ids", figure: "messages/s", over: "JSON relay", more: true, floor: 0.8, aim: 1 },
  { scenario: "chunks with ids", figure: "CPU per message (µs)", over: "JSON relay", floor: 1.3, aim: 1 },
  { scenario: "chunks", figure: "messages/s", over: "SDK glue", more: true, floor: 10, aim: 20 },
  { scenario: "chunks", figure: "CPU per message (µs)", of: "acp-shift --trace", over: "acp-shift", floor: 1.25 },
  { scenario: "paced chunks", figure: "CPU per message (µs)", over: "JSON relay" },
  { scenario: "paced chunks", figure: "CPU per message (µs)", of: "acp-shift --trace", over: "acp-shift", floor: 1.25 },
  { scenario: "tool calls", figure: "messages/s", over: "JSON relay", more: true },
  { scenario: "tool calls", figure: "CPU per message (µs)", of: "acp-shift --trace", over: "acp-shift", floor: 1.25 },
  { scenario: "latency", figure: "to first chunk, p50 (ms)", over: "byte relay", floor: 1.15, aim: 1.05 },
  { scenario: "latency", figure: "to first chunk, p99 (ms)", over: "byte relay", floor: 1.15, aim: 1.05 },
  { scenario: "start-up", figure: "to initialize result (ms)", over: "byte relay", floor: 1.3, aim: 1.1 },
  { scenario: "chunks", figure: "memory, idle (MiB)", floor: 60, aim: 45 },
  { scenario: "chunks", figure: "memory, peak (MiB)" },
  { scenario: "slow reader", figure: "memory, peak (MiB)", over: "byte relay" },
  { scenario: "soak", figure: "memory, growth over idle (MiB)", floor: 5, aim: 0 },
  { scenario: "soak", figure: "memory, growth over idle (MiB)", over: "byte relay" },
  { scenario: "soak", figure: "memory, growth after the first tenth (MiB)" },
  { scenario: "64 MiB result", figure: "time (ms)", over: "byte relay", floor: 2, aim: 1.2 },
  { scenario: "64 MiB result", figure: "time (ms)", over: "JSON relay", floor: 2, aim: 1.2 },
  { scenario: "64 MiB result", figure: "memory for it ÷ its size", floor: 3, aim: 1.5 },
  { scenario: "100 sessions", figure: "CPU per message ÷ that of one session", floor: 1.1, aim: 1 },
];

/**
 * @param runs `{ scenario, contender, round, figures }` or `{ …, failed: reason }`
 * @returns for each target its value, the median of the ratios within each round: what disturbed one round disturbed
 *   both sides of it. It is undefined when a figure is not known on this platform; when any run it needs failed, `failed`
 *   names the contender instead
 */
export function compare(runs) {
  return targets.map((target) => ({ ...target, ...measured(target, runs) }));
}

function measured({ scenario, figure, of = "acp-shift", over }, runs) {
  const own = runs.filter((run) => run.scenario === scenario && run.contender === of);
  const others = runs.filter((run) => run.scenario === scenario && run.contender === over);
  const failure = [...own, ...others].find((run) => run.failed !== undefined);
  if (failure !== undefined) return { failed: failure.contender };
  const values = own.map((run) => {
    const value = run.figures[figure];
    if (over === undefined) return value;
    return value / others.find(({ round }) => round === run.round)?.figures[figure];
  });
  return { value: median(values) };
}

/** For each scenario and contender the median, least and most of each figure, or why it failed. */
export function summarize(runs) {
  const rows = [];
  for (const { scenario, contender } of runs) {
    if (rows.some((row) => row.scenario === scenario && row.contender === contender)) continue;
    const same = runs.filter((run) => run.scenario === scenario && run.contender === contender);
    const failed = same.find((run) => run.failed !== undefined)?.failed;
    if (failed !== undefined) rows.push({ scenario, contender, failed });
    else rows.push({ scenario, contender, figures: spread(same.map(({ figures }) => figures)) });
  }
  return rows;
}

function spread(runs) {
  const names = Object.keys(runs[0]);
  return Object.fromEntries(
    names.map((name) => {
      const values = runs.map((figures) => figures[name]);
      return [name, { median: median(values), least: Math.min(...values), most: Math.max(...values) }];
    }),
  );
}

function median(values) {
  if (values.length === 0 || values.some((value) => !Number.isFinite(value))) return undefined;
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The comparison as a Markdown table. */
export function comparisonTable(comparison) {
  const rows = comparison.map(({ scenario, figure, of, over, value, failed, floor, aim, more }) => [
    `${scenario}: ${figure}${of === undefined ? "" : ` of ${of}`}${over === undefined ? "" : ` ÷ ${over}`}`,
    failed === undefined ? shown(value) : `${failed} failed`,
    bound(floor, more),
    bound(aim, more),
    verdict({ value, failed, floor, aim, more }),
  ]);
  return table(["figure", "acp-shift", "floor", "aim", ""], rows);
}

function bound(limit, more) {
  return limit === undefined ? "" : `${more ? "≥" : "≤"} ${limit}`;
}

function verdict({ value, failed, floor, aim, more }) {
  if (failed !== undefined || value === undefined || floor === undefined) return "";
  const reaches = (limit) => (more ? value >= limit : value <= limit);
  if (reaches(aim)) return "aim reached";
  return reaches(floor) ? "floor reached" : "below the floor";
}

/** The raw figures as one Markdown table a scenario: `median (least–most)`. */
export function figureTables(rows) {
  const scenarios = [...new Set(rows.map(({ scenario }) => scenario))];
  return scenarios
    .map((scenario) => {
      const own = rows.filter((row) => row.scenario === scenario);
      const names = Object.keys(own.find(({ figures }) => figures)?.figures ?? {});
      const body = own.map(({ contender, figures, failed }) => [
        contender,
        ...(failed === undefined ? names.map((name) => range(figures[name])) : [`failed: ${failed}`]),
      ]);
      return table([scenario, ...names], body);
    })
    .join("\n");
}

function range({ median: middle, least, most }) {
  return middle === undefined || least === most ? shown(middle) : `${shown(middle)} (${shown(least)}–${shown(most)})`;
}

function shown(value) {
  if (value === undefined || !Number.isFinite(value)) return "not known here";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(3)));
}

function table(head, rows) {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => (row[column] ?? "").length)));
  const format = (row) => `| ${widths.map((width, column) => (row[column] ?? "").padEnd(width)).join(" | ")} |\n`;
  return format(head) + format(widths.map((width) => "-".repeat(width))) + rows.map(format).join("");
}
