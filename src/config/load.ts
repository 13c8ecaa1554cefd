import { readConfigFile } from "./config-file.ts";
import { applyProfile, findProfile, loadProfiles } from "./profiles.ts";
import {
  commandLineSource,
  environmentSource,
  resolveSettings,
  type Settings,
  type Source,
  type UnknownVariable,
} from "./settings.ts";
import { at } from "./usage-error.ts";

/**
 * The settings of a run: command line over `ACP_SHIFT_*` variables over the configuration file over a profile the person
 * named over defaults.
 * @param options what the command line gives, by option name; `config` is the configuration file to use
 * @throws UsageError that names the place (option, variable, file and key) and says what is expected there
 */
export async function loadSettings(
  options: Readonly<Record<string, unknown>>,
  variables: Readonly<Record<string, string | undefined>>,
): Promise<{ settings: Settings; unknownVariables: UnknownVariable[] }> {
  const { config, ...given } = options;
  const environment = environmentSource(variables);
  const file = await readConfigFile(typeof config === "string" ? config : variables["ACP_SHIFT_CONFIG"] || undefined);
  const sources = [commandLineSource(given), environment.source, ...(file ? [file] : [])];
  const settings = resolveSettings(sources);
  return { settings: withNamedProfile(settings, sources), unknownVariables: environment.unknown };
}

function withNamedProfile(settings: Settings, sources: readonly Source[]): Settings {
  if (settings.profile === undefined) return settings;
  const place = sources.find(({ values }) => values["profile"])?.place("profile") ?? "profile";
  const profile = at(place, () => findProfile(loadProfiles(), { named: settings.profile }));
  return profile ? applyProfile(settings, profile) : settings;
}
