// Guards the reader the metrics are checked with: what is not well-formed must not pass.
import { describe, expect, test } from "vitest";
import { readExposition, sampleOf } from "../support/exposition.ts";

const counter = '# HELP a_total x\n# TYPE a_total counter\na_total{b="c\\"d"} 2\n';
const histogram = (infinite: number, first = 1) =>
  `# HELP h x\n# TYPE h histogram\nh_bucket{le="1"} ${first}\nh_bucket{le="+Inf"} ${infinite}\nh_sum 1\nh_count 2\n`;

test("what is well-formed is read", () => {
  const families = readExposition(counter + histogram(2));
  expect(sampleOf(families, "a_total", { b: 'c\\"d' })).toBe(2);
  expect(sampleOf(families, "a_total")).toBeUndefined();
  expect(sampleOf(families, "h_bucket", { le: "1" })).toBe(1);
  expect(sampleOf(families, "h_count")).toBe(2);
});

describe("what is not, is refused", () => {
  test.each([
    ["no end of line", counter.trimEnd()],
    ["no type", "# HELP a x\na 1\n"],
    ["no help", "# TYPE a gauge\na 1\n"],
    ["another family's sample", "# HELP a x\n# TYPE a gauge\nb 1\n"],
    ["the same sample twice", `${counter}a_total{b="c\\"d"} 3\n`],
    ["the same family twice", counter + counter],
    ["an open label", '# HELP a x\n# TYPE a gauge\na{b="c} 1\n'],
    ["no number", "# HELP a x\n# TYPE a gauge\na one\n"],
    ["a histogram that does not add up", histogram(3)],
    ["a histogram that is not cumulative", histogram(2, 5)],
  ])("%s", (_what, text) => {
    expect(() => readExposition(text)).toThrow();
  });
});
