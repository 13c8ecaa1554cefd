// Guards config/examples: every file is valid by the schema of its kind, every acp-shift command line in it by our own
// parser; what refers to something refers to something there; no container is more than it needs to be.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { readCommandLine } from "../../src/config/command-line.ts";
import { commandLineSource, environmentSource, resolveSettings, type Settings } from "../../src/config/settings.ts";
import { asArray, asObject, type JsonObject } from "../../src/protocol/json.ts";
import { parseAddress } from "../../src/remote/address.ts";
import { compose, containers, containersOf, type ExampleContainer, kubernetes, podOf } from "./examples.ts";

const schema = (name: string): JsonObject =>
  JSON.parse(readFileSync(join(import.meta.dirname, "../fixtures/schemas", name), "utf8"));
const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
const isCompose = ajv.compile(schema("compose-spec.json"));
ajv.addSchema(schema("kubernetes-1.36.json"), "kubernetes");

const kinds: Record<string, string> = {
  "v1 Pod": "io.k8s.api.core.v1.Pod",
  "v1 Service": "io.k8s.api.core.v1.Service",
  "apps/v1 Deployment": "io.k8s.api.apps.v1.Deployment",
  "networking.k8s.io/v1 NetworkPolicy": "io.k8s.api.networking.v1.NetworkPolicy",
  "policy/v1 PodDisruptionBudget": "io.k8s.api.policy.v1.PodDisruptionBudget",
};

/** What is wrong with a manifest. */
function faultsOf(manifest: JsonObject): unknown[] {
  const definition = kinds[`${manifest["apiVersion"]} ${manifest["kind"]}`];
  const validate = ajv.getSchema(`kubernetes#/definitions/${definition}`);
  if (validate === undefined) return [`no such kind: ${manifest["apiVersion"]} ${manifest["kind"]}`];
  validate(manifest);
  return (validate.errors ?? []).map(({ instancePath, message, params }) => ({ instancePath, message, params }));
}

const manifests = kubernetes.flatMap(({ file, documents }) =>
  documents.map((manifest) => ({ file, kind: String(manifest["kind"]), manifest })),
);
const pods = manifests.flatMap(({ file, manifest }) => {
  const pod = podOf(manifest);
  return pod === undefined ? [] : [{ file, pod, manifest }];
});

describe("the schemas", () => {
  test.each(compose)("$file", ({ documents }) => {
    expect(documents).toHaveLength(1);
    isCompose(documents[0]);
    expect(isCompose.errors ?? []).toEqual([]);
  });

  test.each(manifests)("$file: $kind", ({ manifest }) => {
    expect(faultsOf(manifest)).toEqual([]);
  });

  test("would not let a slip pass", () => {
    const [, deployment] = manifests.map(({ manifest }) => manifest).filter((manifest) => podOf(manifest));
    const changed = (change: (container: JsonObject) => JsonObject) => {
      const pod = podOf(structuredClone(deployment ?? {})) ?? {};
      return { apiVersion: "v1", kind: "Pod", spec: { ...pod, containers: containersOf(pod).map(change) } };
    };
    expect(faultsOf(changed((same) => same))).toEqual([]);
    expect(
      faultsOf(changed(({ readinessProbe, ...rest }) => ({ ...rest, readynessProbe: readinessProbe }))),
    ).not.toEqual([]);
    expect(faultsOf(changed((rest) => ({ ...rest, args: "serve" })))).not.toEqual([]);
    expect(isCompose({ services: { agent: { image: "a", comand: ["serve"] } } })).toBe(false);
  });
});

/** What a container's command line and variables come to. @throws UsageError when acp-shift would refuse them */
async function settingsOf({ words, env }: ExampleContainer): Promise<{ settings: Settings; command: string[] }> {
  const line = await readCommandLine(words);
  if (line.type !== "serve") throw new Error(`not serve, but ${line.type}`);
  const { source, unknown } = environmentSource(env);
  expect(unknown).toEqual([]);
  return { settings: resolveSettings([commandLineSource(line.options), source]), command: line.command };
}

describe.each(containers)("$file: $name", (container) => {
  const { spec, file } = container;

  test("its command line is one of serve's, with one agent and addresses", async () => {
    const { settings, command } = await settingsOf(container);
    const { listen = [], connect, tokenFile } = settings;
    expect([connect !== undefined, command.length > 0].filter(Boolean)).toHaveLength(1);
    expect(listen.length).toBeGreaterThan(0);
    for (const address of [...listen, ...(connect === undefined ? [] : [connect])]) parseAddress(address);
    const isOpen = listen.some((address) => address.includes("0.0.0.0"));
    expect(isOpen && tokenFile === undefined).toBe(false);
  });

  test("it has time to drain and to end its agents", async () => {
    const { settings } = await settingsOf(container);
    const pod = pods.find((one) => one.file === file)?.pod;
    const grace = pod
      ? Number(pod["terminationGracePeriodSeconds"])
      : Number.parseInt(String(spec["stop_grace_period"]), 10);
    expect(grace * 1000).toBeGreaterThanOrEqual(settings.drain + settings.termAfter + settings.killAfter + 5000);
  });

  test("it runs without rights, on a file system it cannot write", () => {
    const security = asObject(spec["securityContext"]);
    const found = file.startsWith("compose")
      ? [spec["user"], spec["read_only"], spec["cap_drop"], spec["security_opt"], spec["privileged"]]
      : [
          "1000:1000",
          security["readOnlyRootFilesystem"],
          asObject(security["capabilities"])["drop"],
          [`no-new-privileges:${security["allowPrivilegeEscalation"] === false}`],
          security["privileged"],
        ];
    expect(found).toEqual(["1000:1000", true, ["ALL"], ["no-new-privileges:true"], undefined]);
  });

  test("no secret is written down", () => {
    const secretive = Object.entries(container.env).filter(([name]) => /token|secret|key|password/i.test(name));
    expect(secretive).toEqual([]);
  });
});

describe.each(compose)("$file", ({ documents: [document = {}] }) => {
  const services = Object.entries(asObject(document["services"])).map(([name, value]) => ({
    name,
    spec: asObject(value),
  }));

  test("volumes, networks, secrets and ports are there, and nothing is open to other machines", () => {
    for (const { spec } of services) {
      for (const volume of asArray(spec["volumes"]).map(String)) {
        const [source = ""] = volume.split(":");
        if (!source.startsWith(".")) expect(Object.keys(asObject(document["volumes"]))).toContain(source);
      }
      for (const [part, names] of [
        ["networks", spec["networks"]],
        ["secrets", spec["secrets"]],
      ] as const) {
        const known = Object.keys(asObject(document[part]));
        expect(asArray(names).filter((name) => !known.includes(String(name)))).toEqual([]);
      }
      for (const port of asArray(spec["ports"])) expect(port).toMatch(/^127\.0\.0\.1:/);
    }
  });

  test("a token that is read is one that is mounted", () => {
    for (const { spec } of services) {
      const words = asArray(spec["command"]).map(String);
      const file = words[words.indexOf("--token-file") + 1];
      const mounted = asArray(spec["secrets"]).map((name) => `/run/secrets/${name}`);
      expect(words.includes("--token-file") ? [file] : []).toEqual(mounted);
    }
  });

  test("the bridge reaches the agent where it listens, and by what they share", () => {
    const of = (name: string) => services.find((service) => service.name === name)?.spec ?? {};
    const [agent, bridge] = [of("agent"), of("bridge")];
    const addressAfter = (spec: JsonObject, option: string) => {
      const words = asArray(spec["command"]).map(String);
      return parseAddress(words[words.indexOf(option) + 1] ?? "");
    };
    const [listens, reached] = [addressAfter(agent, "--listen"), addressAfter(bridge, "--connect")];
    if (reached.scheme === "unix") {
      expect(listens).toEqual(reached);
      const shared = asArray(agent["volumes"]).filter((volume) => asArray(bridge["volumes"]).includes(volume));
      const folders = shared.map((volume) => String(volume).split(":")[1]);
      expect(folders.some((folder) => reached.path.startsWith(`${folder}/`))).toBe(true);
    } else {
      expect(listens).toEqual({ ...reached, host: "0.0.0.0" });
      expect(reached).toMatchObject({ host: "agent" });
      const shared = asArray(agent["networks"]).filter((network) => asArray(bridge["networks"]).includes(network));
      expect(shared.map((name) => asObject(asObject(document["networks"])[String(name)])["internal"])).toEqual([true]);
    }
  });
});

describe.each(pods)("$file", ({ pod, manifest, file }) => {
  const all = containersOf(pod);

  test("the pod runs as the image's user, with no key to the cluster", () => {
    expect(pod["securityContext"]).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 1000,
      runAsGroup: 1000,
      fsGroup: 1000,
    });
    expect(pod["automountServiceAccountToken"]).toBe(false);
    expect(pod["enableServiceLinks"]).toBe(false);
  });

  test("volumes that are mounted are there, and are all used", () => {
    const mounted = all.flatMap((container) =>
      asArray(container["volumeMounts"]).map((mount) => asObject(mount)["name"]),
    );
    const there = asArray(pod["volumes"]).map((volume) => asObject(volume)["name"]);
    expect([...new Set(mounted)].toSorted()).toEqual(there.toSorted());
  });

  test("what is read or written is on a volume", () => {
    for (const container of all) {
      const folders = asArray(container["volumeMounts"]).map((mount) => String(asObject(mount)["mountPath"]));
      const paths = asArray(container["args"])
        .map(String)
        .map((word) => word.replace(/^unix:/, ""))
        .filter((word) => word.startsWith("/"));
      expect(paths.filter((path) => !folders.some((folder) => `${path}/`.startsWith(`${folder}/`)))).toEqual([]);
    }
  });

  test("a secret is readable by the user's group, and by nobody else", () => {
    const secrets = asArray(pod["volumes"])
      .map((volume) => asObject(volume)["secret"])
      .filter(Boolean);
    expect(secrets.map((secret) => asObject(secret)["defaultMode"])).toEqual([0o440]);
  });

  test("who takes clients is asked by probes where it answers, and has its resources named", () => {
    for (const container of all) {
      expect(asObject(asObject(container["resources"])["requests"])).toMatchObject({
        cpu: expect.anything(),
        memory: expect.anything(),
      });
      expect(asObject(asObject(container["resources"])["limits"])).toMatchObject({ memory: expect.anything() });
      const words = asArray(container["args"]).map(String);
      const ports = asArray(container["ports"]).map(asObject);
      const port = (name: string) => ports.find((one) => one["name"] === name)?.["containerPort"];
      if (!words.includes("--ops")) continue;
      expect(new URL(words[words.indexOf("--ops") + 1] ?? "").port).toBe(String(port("ops")));
      expect(parseAddress(words[words.indexOf("--listen") + 1] ?? "")).toMatchObject({ port: port("acp") });
      const asked = (probe: string) => asObject(asObject(container[probe])["httpGet"]);
      expect(asked("readinessProbe")).toEqual({ path: "/readyz", port: "ops" });
      expect(asked("livenessProbe")).toEqual({ path: "/healthz", port: "ops" });
    }
  });

  test("what stands before the pod finds it, and lets through what it listens on", () => {
    const others = manifests.filter((one) => one.file === file && one.manifest !== manifest).map((one) => one.manifest);
    const labels = asObject(asObject(asObject(manifest["spec"])["template"])["metadata"])["labels"];
    const ports = all.flatMap((container) => asArray(container["ports"]).map((port) => asObject(port)["name"]));
    for (const other of others) {
      const spec = asObject(other["spec"]);
      const selector = asObject(spec["podSelector"] ?? spec["selector"]);
      expect(labels).toMatchObject(asObject(selector["matchLabels"] ?? selector));
      expect(asObject(other["metadata"])["namespace"]).toBe(asObject(manifest["metadata"])["namespace"]);
      const named = [
        ...asArray(spec["ports"]),
        ...asArray(spec["ingress"]).flatMap((rule) => asArray(asObject(rule)["ports"])),
      ]
        .map(asObject)
        .map(({ port, targetPort }) => targetPort ?? port);
      expect(named.filter((name) => !ports.includes(name))).toEqual([]);
    }
  });
});
