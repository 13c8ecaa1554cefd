import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { asArray, asObject } from "../protocol/json.ts";
import { suggestion } from "./nearest.ts";
import { optionName, options, readValue, settingNames } from "./options.ts";
import type { Settings, SettingValues } from "./settings.ts";
import { at, UsageError } from "./usage-error.ts";

/** What is known about one agent, from a file of config/agents (docs/mapping.md §5 and §9). */
export interface Profile {
  name: string;
  title: string;
  match: {
    /** Exact values of `agentInfo.name`. */
    agentInfo: readonly string[];
    /** Names of the agent's program, without folder and extension. */
    command: readonly string[];
  };
  settings: Partial<Pick<SettingValues, "settle" | "replaySettle" | "restatedMessages" | "restartAfterLogin">>;
  /** For every setting, by option name, the reason. */
  why: Readonly<Record<string, string>>;
}

const folder = new URL("../../config/agents/", import.meta.url);

/** Reads every profile the package ships, in the order of their names. */
export function loadProfiles(): Profile[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".json"))
    .sort()
    .map((file) => parseProfile(fileURLToPath(new URL(file, folder)), readFileSync(new URL(file, folder), "utf8")));
}

/**
 * Reads one profile file.
 * @throws UsageError when it sets something a profile may not set, or a value is not what the option expects
 */
export function parseProfile(file: string, text: string): Profile {
  const { name, title, match, settings, why } = asObject(JSON.parse(text));
  const { agentInfo, command } = asObject(match);
  const written = asObject(settings);
  const allowed = settingNames.filter((setting) => options[setting].byProfile);
  for (const key of Object.keys(written)) {
    if (!allowed.some((setting) => optionName(setting) === key)) {
      throw new UsageError(`${file}: "${key}" is nothing a profile can set`);
    }
  }
  const values = allowed
    .filter((setting) => optionName(setting) in written)
    .map((setting) => {
      const key = optionName(setting);
      return [setting, at(`${file}: "${key}"`, () => readValue(options[setting], written[key], "/"))];
    });
  return {
    name: String(name),
    title: String(title),
    match: { agentInfo: asArray(agentInfo).map(String), command: asArray(command).map(String) },
    settings: Object.fromEntries(values),
    why: Object.fromEntries(Object.entries(asObject(why)).map(([key, reason]) => [key, String(reason)])),
  };
}

/**
 * Chooses a profile: the one a person named (`none`: no profile); else the one for what the agent calls itself; and only
 * for an agent that gave no name, the one for its program.
 * @param known.command the agent's program as it was started; folder and extension do not matter
 * @throws UsageError for a named profile that does not exist, listing those that do
 */
export function findProfile(
  profiles: readonly Profile[],
  known: { named?: string | undefined; agentInfoName?: string | undefined; command?: string | undefined },
): Profile | undefined {
  const { named, agentInfoName, command } = known;
  if (named === "none") return undefined;
  if (named !== undefined) {
    const profile = profiles.find(({ name }) => name === named);
    if (profile) return profile;
    const names = profiles.map(({ name }) => name);
    throw new UsageError(
      `there is no profile "${named}"${suggestion(named, names)}; there are ${names.join(", ")}, and none for no profile`,
    );
  }
  if (agentInfoName !== undefined) return profiles.find(({ match }) => match.agentInfo.includes(agentInfoName));
  if (command === undefined) return undefined;
  const program = (command.split(/[\\/]/).at(-1) ?? "").replace(/\.(cmd|exe|bat|ps1|[cm]?js)$/i, "");
  return profiles.find(({ match }) => match.command.includes(program));
}

/** The settings with the profile's in place of defaults; what a person set stays. */
export function applyProfile(settings: Settings, profile: Profile): Settings {
  const chosen = Object.entries(profile.settings).filter(
    ([setting]) => !settings.setByUser.has(setting as keyof Profile["settings"]),
  );
  return { ...settings, ...Object.fromEntries(chosen) };
}
