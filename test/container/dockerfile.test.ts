// Guards the Dockerfile, as far as that needs no engine: who runs what, that nothing needs a shell at run time, that what is
// copied is there. `npm run test:image` builds it and runs what comes out.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

interface Instruction {
  word: string;
  rest: string;
}

function instructionsOf(dockerfile: string): Instruction[] {
  const lines = dockerfile.split("\n").filter((line) => !/^\s*(#|$)/.test(line));
  const joined = lines.join("\n").replace(/\\\n\s*/g, " ");
  return joined.split("\n").map((line) => {
    const [word = "", ...rest] = line.trim().split(/\s+/);
    return { word, rest: rest.join(" ") };
  });
}

const instructions = instructionsOf(read("Dockerfile"));
const lastStage = instructions.slice(instructions.findLastIndex(({ word }) => word === "FROM"));
const restOf = (word: string, among = lastStage) => among.filter((one) => one.word === word).map(({ rest }) => rest);
const documented = [...read("docs/container.md").matchAll(/```dockerfile\n([\s\S]*?)```/g)].map(([, text]) =>
  instructionsOf(text ?? ""),
);

describe("Dockerfile", () => {
  test("every stage can be built on a base of one's own", () => {
    expect(instructions[0]).toEqual({ word: "ARG", rest: expect.stringMatching(/^BASE_IMAGE=\S+$/) });
    expect(restOf("FROM", instructions)).toEqual([`\${BASE_IMAGE} AS build`, `\${BASE_IMAGE}`]);
  });

  test("the image is made by copying only, and no shell starts anything", () => {
    expect(lastStage.map(({ word }) => word).filter((word) => !["FROM", "COPY", "USER"].includes(word))).toEqual([
      "HEALTHCHECK",
      "ENTRYPOINT",
    ]);
    const [entrypoint = ""] = restOf("ENTRYPOINT");
    expect(JSON.parse(entrypoint)).toEqual(["/opt/acp-shift/tini", "-s", "--", "node", "/opt/acp-shift/dist/cli.js"]);
    const [, check = ""] = /CMD (.*)$/.exec(restOf("HEALTHCHECK")[0] ?? "") ?? [];
    expect(JSON.parse(check)).toEqual(["node", "/opt/acp-shift/healthcheck.mjs"]);
  });

  test("its user is a number other than root's, for Kubernetes to see", () => {
    expect(restOf("USER")).toEqual([expect.stringMatching(/^[1-9]\d*:[1-9]\d*$/)]);
  });

  test("what it takes from the checkout is named, is there, and reaches the build", () => {
    const ignored = read(".dockerignore").split("\n");
    const sources = restOf("COPY", instructions)
      .filter((rest) => !rest.startsWith("--from"))
      .flatMap((rest) => rest.split(" ").slice(0, -1))
      .map((source) => source.replace("tsconfig*.json", "tsconfig.build.json"));
    expect(sources.length).toBeGreaterThan(5);
    for (const source of sources) {
      expect(source).toMatch(/^\w/);
      expect(existsSync(join(root, source)), source).toBe(true);
      expect(ignored).not.toContain(source.split("/")[0]);
    }
    expect(ignored).toEqual(expect.arrayContaining([".*", "node_modules", "dist"]));
  });

  test("no secret and no variable is built in", () => {
    expect(instructions.filter(({ word }) => word === "ENV" || word === "ADD")).toEqual([]);
    expect(restOf("ARG", instructions)).toHaveLength(1);
  });
});

describe("the Dockerfiles of docs/container.md", () => {
  test("one is based on the image, one takes the bridge along and starts it as the image does", () => {
    const [based = [], copied = []] = documented;
    expect(documented).toHaveLength(2);
    expect(restOf("FROM", based)).toEqual(["acp-shift"]);
    expect(restOf("COPY", copied)).toContain("--from=acp-shift /opt/acp-shift /opt/acp-shift");
    expect(restOf("ENTRYPOINT", copied)).toEqual(restOf("ENTRYPOINT"));
  });

  test.each(documented.map((instructions) => ({ instructions })))(
    "they end as the image's user",
    ({ instructions }) => {
      expect(restOf("USER", instructions).at(-1)).toEqual(restOf("USER")[0]);
    },
  );
});
