// The real agents that are run through acp-shift: what is installed, how it is started, and what it cannot do.
import { readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../src/protocol/json.ts";
import type { Purpose } from "./model/tool-arguments.ts";
import type { StepName } from "./steps.ts";

/** Where one run of an agent takes place. */
export interface Place {
  /** The root of the stand-in model's APIs. */
  model: string;
  /** The session's working directory. */
  work: string;
  /** The path of a program that was installed for the agent. */
  program(name: string): string;
}

export interface Agent {
  name: string;
  title: string;
  /** Exact versions: what is installed, and checked to be what was installed. */
  packages: Readonly<Record<string, string>>;
  /** The program that speaks the protocol, and its arguments. */
  command: readonly [program: string, ...args: string[]];
  /** True: it needs Node 22, which is installed with it. */
  node22?: true;
  /** The versions of the protocol it speaks. */
  protocols: readonly number[];
  environment(place: Place): Record<string, string>;
  /** Its configuration, by path inside its home. */
  files(place: Place): Record<string, JsonObject | string>;
  /** False: it takes a proxy for its model too, and is run without the dead one that keeps it from the network. */
  proxy?: false;
  /** What its model does with the shell, because the agent's own tool for it does not work everywhere. */
  byShell?: readonly Purpose[];
  /** For an agent that brings back only sessions of some age: makes those in its home older, and says why. */
  ageing?: { age(home: string): void; reason: string };
  /** Steps it cannot pass, each with the reason. */
  impossible: Partial<Record<StepName, string>>;
  /** What is its own way, where agents differ and the protocol allows it. */
  ways: Partial<Ways>;
}

/** How an agent may differ from others without being wrong. */
export interface Ways {
  /** How a turn ends in which a permission was refused. */
  refusal: "end_turn" | "cancelled";
  /** How a turn ends in which the model's API refused. */
  modelError: "error" | "end_turn";
  /** How a tool call ends that reads a file that is not there. */
  missing: "failed" | "completed";
  /** A slash command it announces and answers. */
  command: string;
  /** Options that are left as they are, each with the reason. */
  fixedOptions: Readonly<Record<string, string>>;
}

export const USUAL: Ways = {
  refusal: "end_turn",
  modelError: "error",
  missing: "failed",
  command: "help",
  fixedOptions: {},
};

/** The version of Node for the agents that need 22. */
export const NODE_22 = "22.23.3";

function qwen(version: string): Omit<Agent, "name" | "title" | "impossible" | "ways"> {
  return {
    packages: { "@qwen-code/qwen-code": version },
    command: ["qwen", "--acp"],
    protocols: [1],
    environment: ({ model }) => ({
      OPENAI_API_KEY: "stand-in",
      OPENAI_BASE_URL: `${model}/v1`,
      OPENAI_MODEL: "stand-in",
      QWEN_TELEMETRY_ENABLED: "false",
    }),
    files: () => ({
      ".qwen/settings.json": {
        security: { auth: { selectedType: "openai" }, folderTrust: { enabled: false } },
        general: { disableAutoUpdate: true, enableAutoUpdate: false },
        privacy: { usageStatisticsEnabled: false },
        telemetry: { enabled: false },
        model: { name: "stand-in" },
        tools: { approvalMode: "default" },
      },
    }),
  };
}

function claude(version: string): Omit<Agent, "name" | "title" | "protocols" | "impossible" | "ways"> {
  return {
    packages: { "@agentclientprotocol/claude-agent-acp": version },
    command: ["claude-agent-acp"],
    environment: ({ model }) => ({
      ANTHROPIC_BASE_URL: model,
      ANTHROPIC_API_KEY: "stand-in",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_MAX_RETRIES: "0",
      DISABLE_TELEMETRY: "1",
      DISABLE_AUTOUPDATER: "1",
      DISABLE_ERROR_REPORTING: "1",
    }),
    files: () => ({
      ".claude.json": { hasCompletedOnboarding: true },
      ".claude/settings.json": { permissions: { defaultMode: "default" } },
    }),
  };
}

function codexConfig({ model, work }: Place, name: string): string {
  return `
model = "${name}"
model_provider = "stand_in"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.stand_in]
name = "stand-in"
base_url = "${model}/v1"
wire_api = "responses"
env_key = "STAND_IN_KEY"
request_max_retries = 0
stream_max_retries = 0
[projects."${work}"]
trust_level = "trusted"
`;
}

/** The agents, the smallest first. */
export const AGENTS: readonly Agent[] = [
  {
    name: "qwen-0.15",
    title: "Qwen Code 0.15",
    ...qwen("0.15.10"),
    proxy: false,
    impossible: {},
    ways: { command: "status", fixedOptions: { model: "its other models need a login with their maker" } },
  },
  {
    name: "gemini",
    title: "Gemini CLI",
    packages: { "@google/gemini-cli": "0.61.0" },
    command: ["gemini", "--acp"],
    protocols: [1],
    environment: ({ model }) => ({
      GEMINI_API_KEY: "stand-in",
      GOOGLE_GEMINI_BASE_URL: model,
      GEMINI_TELEMETRY_ENABLED: "false",
      GEMINI_CLI_TRUST_WORKSPACE: "true",
    }),
    files: () => ({
      ".gemini/settings.json": {
        security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
        general: { disableAutoUpdate: true, enableAutoUpdate: false, disableUpdateNag: true },
        privacy: { usageStatisticsEnabled: false },
        telemetry: { enabled: false },
        useWriteTodos: true,
      },
    }),
    ageing: {
      age: (home) => {
        const chats = join(home, ".gemini", "tmp", "work", "chats");
        for (const file of readdirSync(chats)) {
          renameSync(join(chats, file), join(chats, file.replace(/^session-.{10}/, "session-2026-01-01")));
        }
      },
      reason: "not within the minute the session was made in: the agent then overwrites it",
    },
    impossible: { plan: "it gives its models no tool for plans" },
    ways: {},
  },
  {
    name: "qwen",
    title: "Qwen Code",
    ...qwen("0.24.4"),
    node22: true,
    impossible: { plan: "its models must search for its tool for plans first, and the stand-in does not" },
    ways: { command: "status" },
  },
  {
    name: "pi-earendil",
    title: "pi (pi-acp)",
    packages: { "pi-acp": "0.0.34", "@earendil-works/pi-coding-agent": "1.6.0" },
    command: ["pi-acp"],
    node22: true,
    protocols: [1],
    environment: ({ program }) => ({
      PI_ACP_PI_COMMAND: program("pi"),
      PI_OFFLINE: "1",
      PI_SKIP_VERSION_CHECK: "1",
      PI_TELEMETRY: "0",
    }),
    files: ({ model }) => ({
      ".pi/agent/models.json": {
        providers: {
          "stand-in": {
            baseUrl: `${model}/v1`,
            api: "openai-completions",
            apiKey: "stand-in",
            models: [
              {
                id: "stand-in",
                name: "Stand-in",
                reasoning: true,
                input: ["text"],
                contextWindow: 100_000,
                maxTokens: 4096,
                cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
              },
            ],
          },
        },
      },
      ".pi/agent/settings.json": { defaultProvider: "stand-in", defaultModel: "stand-in" },
    }),
    impossible: {
      plan: "its models have no tool for plans",
      "permission allowed": "it runs its tools without asking",
      "permission refused": "it runs its tools without asking",
      "cancel at a permission": "it runs its tools without asking",
    },
    ways: { modelError: "end_turn", command: "session" },
  },
  {
    name: "copilot",
    title: "GitHub Copilot CLI",
    packages: { "@github/copilot": "1.0.102" },
    command: ["copilot", "--acp"],
    protocols: [1],
    environment: ({ model }) => ({
      COPILOT_PROVIDER_BASE_URL: `${model}/v1`,
      COPILOT_PROVIDER_TYPE: "openai",
      COPILOT_PROVIDER_API_KEY: "stand-in",
      COPILOT_MODEL: "gpt-5",
      COPILOT_OFFLINE: "true",
      COPILOT_AUTO_UPDATE: "false",
    }),
    files: () => ({}),
    impossible: { plan: "the plan it sends stays empty, whatever its models write into its table of tasks" },
    ways: { modelError: "end_turn", command: "usage" },
  },
  {
    name: "codex-zed",
    title: "Codex (@zed-industries/codex-acp)",
    packages: { "@zed-industries/codex-acp": "0.16.0" },
    command: ["codex-acp"],
    protocols: [1],
    environment: () => ({ STAND_IN_KEY: "stand-in" }),
    files: (place) => ({ ".codex/config.toml": codexConfig(place, "gpt-5.4") }),
    // It reads the file to patch in a sandbox that needs bubblewrap.
    byShell: ["edit"],
    impossible: {},
    ways: { refusal: "cancelled", command: "init" },
  },
  {
    name: "claude-0.49",
    title: "Claude Agent 0.49 (claude-agent-acp)",
    ...claude("0.49.0"),
    protocols: [1],
    impossible: {},
    ways: { command: "context" },
  },
  {
    name: "opencode",
    title: "OpenCode",
    packages: { "opencode-ai": "1.18.33" },
    command: ["opencode", "acp"],
    protocols: [1],
    environment: () => ({
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    }),
    files: ({ model }) => {
      const limit = { context: 100_000, output: 4096 };
      return {
        ".config/opencode/opencode.json": {
          autoupdate: false,
          share: "disabled",
          model: "stand-in/stand-in",
          small_model: "stand-in/stand-in",
          permission: { bash: "ask", edit: "ask" },
          provider: {
            "stand-in": {
              npm: "@ai-sdk/openai-compatible",
              name: "Stand-in",
              options: { baseURL: `${model}/v1`, apiKey: "stand-in" },
              models: {
                "stand-in": { name: "Stand-in", reasoning: true, limit },
                "stand-in-2": { name: "Stand-in 2", limit },
              },
            },
          },
        },
      };
    },
    impossible: { plan: "it shows its list as a tool call, not as a plan" },
    ways: { command: "init" },
  },
  {
    name: "claude",
    title: "Claude Agent (claude-agent-acp)",
    ...claude("0.101.0"),
    node22: true,
    protocols: [1, 2],
    impossible: { plan: "it gives its models no tool for plans" },
    ways: { command: "context" },
  },
  {
    name: "codex",
    title: "Codex (codex-acp)",
    packages: { "@agentclientprotocol/codex-acp": "2.6.0", "@openai/codex": "0.166.0" },
    command: ["codex-acp"],
    node22: true,
    protocols: [1, 2],
    environment: () => ({ STAND_IN_KEY: "stand-in", INITIAL_AGENT_MODE: "read-only" }),
    files: (place) => ({ ".codex/config.toml": codexConfig(place, "gpt-5.5") }),
    impossible: { plan: "it gives its models no tool for plans" },
    ways: { refusal: "cancelled", modelError: "end_turn", command: "status" },
  },
];
