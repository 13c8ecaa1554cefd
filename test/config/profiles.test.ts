// Guards docs/mapping.md §5 and §9: profiles switch on the few behaviours left to them, each with a reason; what a person
// chose is never overridden, and a profile a person named wins.
import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { applyProfile, findProfile, loadProfiles, parseProfile } from "../../src/config/profiles.ts";
import { commandLineSource, resolveSettings } from "../../src/config/settings.ts";

const profiles = loadProfiles();

describe.each(profiles.map((profile) => [profile.name, profile] as const))("config/agents/%s.json", (_, profile) => {
  test("gives a reason for every setting, and for nothing else", () => {
    const names = {
      settle: "settle",
      replaySettle: "replay-settle",
      restatedMessages: "restated-messages",
      restartAfterLogin: "restart-after-login",
    };
    const set = Object.keys(profile.settings).map((setting) => names[setting as keyof typeof names]);
    expect(set.length).toBeGreaterThan(0);
    expect(Object.keys(profile.why).sort()).toEqual(set.sort());
    for (const reason of Object.values(profile.why)) expect(reason.length).toBeGreaterThan(40);
  });

  test("sets nothing to its default", () => {
    expect(resolveSettings([])).not.toMatchObject(profile.settings);
  });

  test("is found by what its agent calls itself, alone", () => {
    expect(profile.match.agentInfo.length).toBeGreaterThan(0);
    for (const agentInfoName of profile.match.agentInfo) {
      expect(profiles.filter(({ match }) => match.agentInfo.includes(agentInfoName))).toEqual([profile]);
      expect(findProfile(profiles, { agentInfoName, command: "anything" })).toBe(profile);
    }
    for (const command of profile.match.command) expect(findProfile(profiles, { command })).toBe(profile);
  });
});

test("every file of config/agents is one profile, named as its file", () => {
  const files = readdirSync(new URL("../../config/agents/", import.meta.url)).sort();
  expect(profiles.map(({ name }) => `${name}.json`)).toEqual(files);
});

describe("findProfile", () => {
  const known = { agentInfoName: "gemini-cli", command: "gemini" };

  test.each([
    [{ ...known, named: "claude" }, "claude"],
    [{ ...known, named: "none" }, undefined],
    [known, "gemini"],
    [{ agentInfoName: "OpenCode", command: "gemini" }, "opencode"],
    // What an agent says of itself outranks its program, also when no profile is for it.
    [{ agentInfoName: "another", command: "gemini" }, undefined],
    [{ agentInfoName: "Gemini-CLI" }, undefined],
    [{ command: "gemini" }, "gemini"],
    [{ command: "/usr/local/bin/gemini" }, "gemini"],
    [{ command: "C:\\Users\\x\\AppData\\npm\\gemini.CMD" }, "gemini"],
    [{ command: "node_modules/.bin/qwen.js" }, "qwen"],
    [{ command: "codex-acp" }, undefined],
    [{ command: "npx" }, undefined],
    [{}, undefined],
  ])("%j → %s", (input, name) => {
    expect(findProfile(profiles, input)?.name).toBe(name);
  });

  test("an unknown name is an error that lists the known ones", () => {
    expect(() => findProfile(profiles, { named: "cluade" })).toThrow(
      'there is no profile "cluade" (did you mean "claude"?); there are claude, codex-zed, copilot, gemini, opencode, pi, qwen, and none for no profile',
    );
  });
});

describe("applyProfile", () => {
  const profile = parseProfile(
    "/p.json",
    '{"name":"p","title":"P","match":{},"settings":{"settle":"7ms","restated-messages":"drop"},"why":{}}',
  );

  test("sets its settings and touches nothing else", () => {
    const settings = resolveSettings([]);
    expect(applyProfile(settings, profile)).toEqual({ ...settings, settle: 7, restatedMessages: "drop" });
    expect(settings.settle).toBe(50);
  });

  test("leaves what a person set, even to the default", () => {
    const settings = resolveSettings([commandLineSource({ settle: "50ms" })]);
    expect(applyProfile(settings, profile)).toMatchObject({ settle: 50, restatedMessages: "drop" });
  });
});

test.each([
  ['{"settings":{"log-level":"trace"}}', '/p.json: "log-level" is nothing a profile can set'],
  ['{"settings":{"settle":"soon"}}', '/p.json: "settle": expected a duration'],
  ['{"settings":{"restated-messages":"hide"}}', '/p.json: "restated-messages": expected one of keep, drop'],
])("a profile that cannot be used: %s", (text, message) => {
  expect(() => parseProfile("/p.json", text)).toThrow(message);
});
