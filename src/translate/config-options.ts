import { invalidParams } from "../protocol/errors.ts";
import { asArray, asString, isObject, type JsonObject, without } from "../protocol/json.ts";
import type { Notes } from "./notes.ts";
import { underscored } from "./open-enums.ts";

/** What a v1 agent last said about a session's configuration, as it said it: fields of its session results. */
export interface SessionConfig {
  configOptions?: unknown;
  modes?: unknown;
  models?: unknown;
}

/** A v1 request that sets one option, and what its success does to the session's configuration. */
export interface V1ConfigCall {
  method: "session/set_mode" | "session/set_model" | "session/set_config_option";
  params: JsonObject;
  apply(config: SessionConfig): SessionConfig;
}

/** The two older v1 states that v2 has as config options, and how each is spelled and set. */
const SELECTORS = [
  {
    state: "modes",
    category: "mode",
    name: "Mode",
    current: "currentModeId",
    available: "availableModes",
    id: "id",
    method: "session/set_mode",
    param: "modeId",
  },
  {
    state: "models",
    category: "model",
    name: "Model",
    current: "currentModelId",
    available: "availableModels",
    id: "modelId",
    method: "session/set_model",
    param: "modelId",
  },
] as const;
type Selector = (typeof SELECTORS)[number];

/** A v2 option, with the older state it was made from when it is none of the agent's own. */
interface Sourced {
  option: JsonObject;
  selector?: Selector;
}

/** True when the agent said anything about the session's configuration. */
export function hasConfig(config: SessionConfig): boolean {
  return Array.isArray(config.configOptions) || isObject(config.modes) || isObject(config.models);
}

/**
 * The session's full list of v2 config options (docs/mapping.md §8, schema v2 `SessionConfigOption`).
 *
 * `modes` and `models` come first, each as a select option, unless the agent has an option for the same thing itself.
 * Options that cannot be shown (no id, nothing to choose from, an id used twice) are skipped.
 */
export function configOptionsToV2(config: SessionConfig): JsonObject[] {
  return sourcedOptions(config).map(({ option }) => option);
}

/**
 * The configuration after `current_mode_update` (docs/mapping.md §8): the mode is set in `modes`, and in the agent's own
 * mode option when that has such a value.
 */
export function withCurrentMode(config: SessionConfig, modeId: string): SessionConfig {
  return withCurrent(config, SELECTORS[0], modeId);
}

/**
 * A v2 `session/set_config_option` as the v1 request that does the same (docs/mapping.md §8): `session/set_mode` and
 * `session/set_model` for options made from `modes` and `models`, else `session/set_config_option`.
 *
 * @throws RequestFault `-32602` that names the known config ids, or the values the option allows
 */
export function setConfigOptionToV1(v2Params: JsonObject, config: SessionConfig): V1ConfigCall {
  const options = sourcedOptions(config);
  const configId = asString(v2Params.configId);
  const found = options.find(({ option }) => option.configId === configId);
  if (found === undefined || configId === undefined) {
    const known = options.map(({ option }) => option.configId);
    throw invalidParams(`Unknown configId; this session has: ${known.join(", ") || "none"}`, { configIds: known });
  }
  const { option, selector } = found;
  const value = checkedValue(v2Params, option);
  const rest = without(v2Params, "type", "configId", "value");
  if (selector !== undefined) {
    return {
      method: selector.method,
      params: { ...rest, [selector.param]: value },
      apply: (before) => withCurrent(before, selector, String(value)),
    };
  }
  const type = typeof value === "boolean" ? { type: "boolean" } : {};
  return {
    method: "session/set_config_option",
    params: { ...rest, configId, ...type, value },
    apply: (before) => withOwnValue(before, configId, value),
  };
}

function checkedValue(v2Params: JsonObject, option: JsonObject): unknown {
  const { value } = v2Params;
  const type = asString(v2Params.type);
  if (option.type === "boolean") {
    if (typeof value === "boolean" && (type === undefined || type === "boolean")) return value;
    throw invalidParams(`${option.configId} takes true or false`, { configId: option.configId, values: [true, false] });
  }
  if (option.type === "select") {
    const values = valuesOf(option.options);
    if (values.includes(value) && (type === undefined || type === "id")) return value;
    throw invalidParams(`${option.configId} takes one of: ${values.join(", ")}`, {
      configId: option.configId,
      values,
    });
  }
  return value;
}

function sourcedOptions(config: SessionConfig): Sourced[] {
  const own = ownOptions(config);
  const taken = new Set(own.map((option) => option.configId));
  const made = SELECTORS.flatMap((selector): Sourced[] => {
    if (own.some((option) => isFor(selector, option))) return [];
    const configId = taken.has(selector.category) ? `_${selector.category}` : selector.category;
    const option = taken.has(configId) ? undefined : optionOfState(selector, configId, config[selector.state]);
    return option === undefined ? [] : [{ option, selector }];
  });
  return [...made, ...own.map((option) => ({ option }))];
}

/** True for an option of the agent's own that does what the older state does: by its category, or by its id. */
function isFor(selector: Selector, option: JsonObject): boolean {
  const { category } = option;
  if (option.type !== "select") return false;
  return category === selector.category || (asString(category) === undefined && option.configId === selector.category);
}

function optionOfState(selector: Selector, configId: string, state: unknown): JsonObject | undefined {
  if (!isObject(state)) return undefined;
  const options = asArray(state[selector.available])
    .filter(isObject)
    .map((entry) => ({ ...without(entry, selector.id), value: entry[selector.id] }));
  return selectToV2({
    ...without(state, selector.current, selector.available),
    configId,
    name: selector.name,
    category: selector.category,
    type: "select",
    currentValue: state[selector.current],
    options,
  });
}

function ownOptions(config: SessionConfig): JsonObject[] {
  const ids = new Set<unknown>();
  return asArray(config.configOptions).flatMap((entry): JsonObject[] => {
    const option = isObject(entry) ? optionToV2(entry) : undefined;
    if (option === undefined || ids.has(option.configId)) return [];
    ids.add(option.configId);
    return [option];
  });
}

function optionToV2(v1: JsonObject): JsonObject | undefined {
  const configId = asString(v1.id);
  if (configId === undefined || configId === "" || typeof v1.type !== "string") return undefined;
  const type = underscored(v1.type, ["select", "boolean"]);
  const option = { ...without(v1, "id"), configId, type, name: asString(v1.name) ?? configId };
  if (type === "select") return selectToV2(option);
  if (type === "boolean") return typeof v1.currentValue === "boolean" ? option : undefined;
  return option;
}

/** A select option with valid choices, among them the current one; undefined when there is nothing to choose from. */
function selectToV2(option: JsonObject): JsonObject | undefined {
  const { currentValue } = option;
  if (typeof currentValue !== "string") return undefined;
  const choices = choicesToV2(asArray(option.options));
  if (choices.length === 0) return undefined;
  if (valuesOf(choices).includes(currentValue)) return { ...option, options: choices };
  const current = { value: currentValue, name: currentValue };
  const added = choices.some(isGroup) ? { groupId: "_current", name: "Current", options: [current] } : current;
  return { ...option, options: [...choices, added] };
}

function isGroup(choice: JsonObject): boolean {
  return Array.isArray(choice.options) && typeof choice.value !== "string";
}

/** Flat choices, or groups of them. A list that mixes both becomes flat; a value counts once. */
function choicesToV2(v1: unknown[]): JsonObject[] {
  const seen = new Set<string>();
  const entries = v1.filter(isObject);
  if (!entries.every(isGroup)) {
    return entries.flatMap((entry) => (isGroup(entry) ? asArray(entry.options) : [entry])).flatMap(choiceToV2(seen));
  }
  return entries.flatMap((group): JsonObject[] => {
    const options = asArray(group.options).flatMap(choiceToV2(seen));
    const groupId = asString(group.group) ?? asString(group.groupId) ?? asString(group.name);
    if (options.length === 0 || groupId === undefined) return [];
    return [{ ...without(group, "group"), groupId, name: asString(group.name) ?? groupId, options }];
  });
}

function choiceToV2(seen: Set<string>): (entry: unknown) => JsonObject[] {
  return (entry) => {
    const value = isObject(entry) ? asString(entry.value) : undefined;
    if (!isObject(entry) || value === undefined || seen.has(value)) return [];
    seen.add(value);
    return [{ ...entry, value, name: asString(entry.name) ?? value }];
  };
}

/** The values of flat or grouped choices. */
function valuesOf(choices: unknown): unknown[] {
  return asArray(choices)
    .filter(isObject)
    .flatMap((choice) => (isGroup(choice) ? valuesOf(choice.options) : [choice.value]));
}

/** The configuration with a mode or model set, in the older state and in the agent's own option for it. */
function withCurrent(config: SessionConfig, selector: Selector, value: string): SessionConfig {
  const own = ownOptions(config).find((option) => isFor(selector, option));
  const known = own !== undefined && valuesOf(own.options).includes(value);
  const after = known && typeof own.configId === "string" ? withOwnOption(config, own.configId, value) : config;
  const state = after[selector.state];
  if (!isObject(state) || state[selector.current] === value) return after;
  return { ...after, [selector.state]: { ...state, [selector.current]: value } };
}

/** The configuration with one of the agent's own options set, and the older state that it mirrors. */
function withOwnValue(config: SessionConfig, configId: string, value: unknown): SessionConfig {
  const own = ownOptions(config).find((option) => option.configId === configId);
  const selector = SELECTORS.find((candidate) => own !== undefined && isFor(candidate, own));
  if (selector !== undefined && typeof value === "string") return withCurrent(config, selector, value);
  return withOwnOption(config, configId, value);
}

function withOwnOption(config: SessionConfig, configId: string, value: unknown): SessionConfig {
  const configOptions = asArray(config.configOptions).map((option) =>
    isObject(option) && option.id === configId ? { ...option, currentValue: value } : option,
  );
  return { ...config, configOptions };
}

/**
 * A v2 session's config options as v1 has them (docs/mapping.md §13, schema v1 `SessionConfigOption`). A boolean option
 * becomes a choice of on and off for a client that did not announce such options; options of a type v1 does not define
 * are left out with a note.
 *
 * @param booleans true when the client can show boolean options
 */
export function configOptionsToV1(v2Options: unknown, booleans: boolean, notes: Notes): JsonObject[] {
  return asArray(v2Options)
    .filter(isObject)
    .flatMap((v2): JsonObject[] => {
      const option = { ...without(v2, "configId"), id: v2.configId };
      if (v2.type === "boolean") return [booleans ? option : { ...option, ...onOrOff(v2.currentValue) }];
      if (v2.type === "select") return [{ ...option, options: asArray(v2.options).filter(isObject).map(choiceToV1) }];
      notes.push({ rule: "config-option-type", detail: `the option ${v2.configId} has a type that v1 does not know` });
      return [];
    });
}

function onOrOff(value: unknown): JsonObject {
  const options = [
    { value: "true", name: "On" },
    { value: "false", name: "Off" },
  ];
  return { type: "select", currentValue: String(value === true), options };
}

function choiceToV1(choice: JsonObject): JsonObject {
  return isGroup(choice) ? { ...without(choice, "groupId"), group: choice.groupId } : choice;
}

/** The option that is the session's mode (docs/mapping.md §13): the first select option of that category. */
function modeOption(v2Options: unknown): JsonObject | undefined {
  const [modes] = SELECTORS;
  return asArray(v2Options)
    .filter(isObject)
    .find((option) => option.type === "select" && option.category === modes.category);
}

/**
 * The older v1 `modes` state of a v2 session (docs/mapping.md §13, schema v1 `SessionModeState`), from the option that
 * is its mode; undefined when it has none.
 */
export function modesToV1(v2Options: unknown): JsonObject | undefined {
  const option = modeOption(v2Options);
  if (option === undefined) return undefined;
  const choices = asArray(option.options)
    .filter(isObject)
    .flatMap((choice) => (isGroup(choice) ? asArray(choice.options).filter(isObject) : [choice]));
  return {
    currentModeId: option.currentValue,
    availableModes: choices.map((choice) => ({ ...without(choice, "value"), id: choice.value })),
  };
}

/** The session's mode, for v1's `current_mode_update`; undefined when it has none (docs/mapping.md §13). */
export function currentModeOf(v2Options: unknown): string | undefined {
  return asString(modeOption(v2Options)?.currentValue);
}

/**
 * A v1 `session/set_mode` as v2's `session/set_config_option` (docs/mapping.md §13).
 *
 * @throws RequestFault `-32602` when the session has no modes
 */
export function setModeToV2(v1Params: JsonObject, v2Options: unknown): JsonObject {
  const option = modeOption(v2Options);
  if (option === undefined) throw invalidParams("This session has no modes");
  return { ...without(v1Params, "modeId"), configId: option.configId, type: "id", value: v1Params.modeId };
}

/**
 * A v1 `session/set_config_option` as v2 has it (docs/mapping.md §13): a value without a type is the id of a choice, or
 * on and off of an option that is boolean in v2.
 */
export function setConfigOptionToV2(v1Params: JsonObject, v2Options: unknown): JsonObject {
  if (v1Params.type === "boolean") return v1Params;
  const option = asArray(v2Options)
    .filter(isObject)
    .find(({ configId }) => configId === v1Params.configId);
  const { value } = v1Params;
  if (option?.type === "boolean" && (value === "true" || value === "false")) {
    return { ...v1Params, type: "boolean", value: value === "true" };
  }
  return { ...v1Params, type: "id" };
}
