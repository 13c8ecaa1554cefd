// Guards the image and docs/container.md: what the image holds and as whom it runs; the conversation in it, as PID 1,
// without a shell, on a read-only file system; how it ends, also in the middle of a turn; each way of using it that the
// document shows. Run by scripts/test-image.mjs, which has built the images; IMAGES names them.
import assert from "node:assert/strict";
import { once } from "node:events";
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { perform } from "../../src/commands/demo.ts";
import {
  type Container,
  type ContainerOptions,
  containerCommand,
  type Image,
  runContainer,
  startContainer,
  until,
} from "./container.ts";

const IMAGES = process.env["IMAGES"];
assert.ok(IMAGES, "IMAGES must name the images; run `npm run test:image`");
const { bridge, base, copied }: { bridge: Image; base: Image; copied: Image } = JSON.parse(IMAGES);

const HOME = "/opt/acp-shift";
const CLI = `${HOME}/dist/cli.js`;
const DEMO_AGENT = ["node", `${HOME}/dist/demo/agent.js`];
const fixtures = fileURLToPath(new URL("../fixtures", import.meta.url));
const here = fileURLToPath(new URL(".", import.meta.url));
const HELLO = { protocolVersion: 2, info: { name: "test-client", version: "1.0.0" }, capabilities: {} };
const running = new Set<Container>();
const folder = mkdtempSync(join(tmpdir(), "acp-shift-image-"));

after(async () => {
  for (const container of running) {
    process.kill(await container.pid1(), "SIGKILL");
    await container.ended;
  }
  rmSync(folder, { recursive: true, force: true });
});

function start(image: Image, options: ContainerOptions): Container {
  const container = startContainer(image, options);
  running.add(container);
  void container.ended.then(() => running.delete(container));
  return container;
}

/** Holds the whole demo conversation with what the command runs; fails with all it showed unless all of it was as it should be. */
async function converse(command: [string, ...string[]]): Promise<void> {
  let shown = "";
  const screen = {
    write: (text: string) => {
      shown += text;
    },
    columns: 100,
    colour: false,
  };
  const status = await perform({ both: false, command, screen, deadline: 60_000 });
  assert.equal(status, 0, shown);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** A folder of the image's user. */
function ownFolder(name: string): string {
  const path = join(folder, name);
  const made = mkdtempSync(path);
  chownSync(made, 1000, 1000);
  return made;
}

describe("what it is", () => {
  test("it runs as a user without rights, and without a shell between", () => {
    assert.equal(bridge.config.User, "1000:1000");
    assert.deepEqual(bridge.config.Entrypoint, [`${HOME}/tini`, "-s", "--", "node", CLI]);
  });

  test("it holds what a run needs, readable and not writable for its user", () => {
    const inside = join(bridge.root, HOME);
    assert.deepEqual(readdirSync(inside).toSorted(), [
      "LICENSE",
      "config",
      "dist",
      "healthcheck.mjs",
      "node_modules",
      "package.json",
      "tini",
      "tini.copyright",
    ]);
    const { devDependencies } = JSON.parse(readFileSync(join(inside, "package.json"), "utf8"));
    const packages = Object.keys(devDependencies).filter((name) => existsSync(join(inside, "node_modules", name)));
    assert.deepEqual(packages, []);
    for (const path of readdirSync(inside, { recursive: true, encoding: "utf8" })) {
      const { mode, uid } = lstatSync(join(inside, path));
      assert.equal(uid, 0, path);
      assert.ok((mode & 0o004) !== 0, `${path} cannot be read`);
      assert.ok(lstatSync(join(inside, path)).isSymbolicLink() || (mode & 0o002) === 0, `${path} can be written`);
      assert.doesNotMatch(path, /\.([cm]?ts|map)$/);
    }
    assert.equal(lstatSync(join(bridge.root, "/var/lib/acp-shift")).uid, 1000);
  });
});

describe("the conversation", () => {
  test("all of it in the container", async () => {
    const { status, stdout, stderr } = await runContainer(bridge, { args: ["demo"] });
    assert.equal(status, 0, `${stdout}${stderr}`);
    assert.match(stdout, /All \d+ as expected/);
    assert.equal(stderr, "");
  });

  test("as a wrapper: the client outside, the agent inside", () =>
    converse(containerCommand(bridge, { args: ["--", ...DEMO_AGENT] })));

  test("in an agent's own image that takes the bridge along", () => converse(containerCommand(copied)));

  test("with a state directory on a volume", async () => {
    const state = ownFolder("state-");
    const args = ["--state-dir", "/var/lib/acp-shift", "--", ...DEMO_AGENT];
    await converse(containerCommand(bridge, { args, volumes: { "/var/lib/acp-shift": state } }));
    const files = readdirSync(state, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".jsonl"));
    assert.equal(files.length, 1);
    assert.equal(lstatSync(join(state, files[0] ?? "")).uid, 1000);
  });
});

/** A container that serves clients. Where it listens it says itself. */
async function serving(image: Image, options: ContainerOptions): Promise<{ container: Container; address: string }> {
  const container = start(image, options);
  const listening = () => /listening on (\S+)/.exec(container.stderr)?.[1];
  return { container, address: await until(`address: ${container.stderr}`, listening) };
}

describe("as a sidecar", () => {
  const connected = (...args: string[]): [string, ...string[]] => containerCommand(bridge, { args });

  test("over WebSocket, with a token; SIGTERM ends it with status 143", async () => {
    const secret = ownFolder("secret-");
    writeFileSync(join(secret, "token"), "open-sesame\n", { mode: 0o400 });
    chownSync(join(secret, "token"), 1000, 1000);
    const volumes = { "/mnt": secret };
    const token = ["--token-file", "/mnt/token"];
    const { container, address } = await serving(bridge, {
      args: ["serve", "--listen", "ws://0.0.0.0:0", ...token, "--", ...DEMO_AGENT],
      volumes,
    });
    const reached = address.replace("0.0.0.0", "127.0.0.1");
    await converse(containerCommand(bridge, { args: ["--connect", reached, ...token], volumes }));
    const stranger = start(bridge, { args: ["--connect", reached] });
    client(stranger).send("initialize", HELLO);
    assert.notEqual(await stranger.ended, 0);
    assert.match(stranger.stderr, /401/);
    process.kill(await container.pid1(), "SIGTERM");
    assert.equal(await container.ended, 143);
    await nothingLeft(container);
  });

  test("an agent's own image and the bridge, which share a unix socket only", async () => {
    const volumes = { "/mnt": ownFolder("socket-") };
    const agent = await serving(copied, {
      args: ["serve", "--listen", "unix:/mnt/agent.sock", ...(copied.config.Cmd ?? [])],
      volumes,
    });
    const sidecar = await serving(bridge, {
      args: ["serve", "--listen", "ws://127.0.0.1:0", "--connect", "unix:/mnt/agent.sock"],
      volumes,
    });
    await converse(connected("--connect", sidecar.address));
    for (const { container } of [sidecar, agent]) {
      process.kill(await container.pid1(), "SIGTERM");
      assert.equal(await container.ended, 143);
      await nothingLeft(container);
    }
  });
});

describe("a real agent in an image based on this one", () => {
  test("is found and looked at", async () => {
    const { status, stdout, stderr } = await runContainer(base, {
      args: ["doctor", ...(base.config.Cmd ?? [])],
      volumes: { "/home/node": ownFolder("home-") },
      shell: true,
    });
    assert.equal(status, 0, `${stdout}${stderr}`);
    assert.match(stdout, /usable/);
  });
});

type Json = Record<string, unknown>;

/** A client of the bridge in a container. */
function client(container: Container) {
  const frames: Json[] = [];
  createInterface({ input: container.output }).on("line", (line) => frames.push(JSON.parse(line)));
  let id = 0;
  const send = (method: string, params: Json) => {
    id++;
    container.input.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return id;
  };
  return {
    send,
    async call(method: string, params: Json): Promise<Json> {
      const asked = send(method, params);
      const answer = await until(`answer to ${method}`, () =>
        frames.find((frame) => frame["id"] === asked && !frame["method"]),
      );
      assert.ok(answer["result"], JSON.stringify(answer));
      return answer["result"] as Json;
    },
    shown: (text: string) => until(text, () => frames.find((frame) => JSON.stringify(frame).includes(text))),
    leave() {
      container.input.end();
      return container.ended;
    },
  };
}

/** An agent in the middle of a turn, which has started something itself; none of it ends on a signal it can ignore. */
const STUBBORN = {
  ignores: ["SIGTERM", "SIGINT"],
  eof: [],
  "session/prompt": [
    { spawn: ["node", "/mnt/agents/ignores-everything.mjs"] },
    { update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "at work" } } },
  ],
};

async function midTurn(script: Json = STUBBORN) {
  const args = ["--", "node", "/mnt/peers/raw-agent.mjs", JSON.stringify(script)];
  const container = start(bridge, { args, volumes: { "/mnt": fixtures } });
  const me = client(container);
  await me.call("initialize", HELLO);
  const { sessionId } = await me.call("session/new", { cwd: "/tmp", mcpServers: [] });
  me.send("session/prompt", { sessionId, prompt: [{ type: "text", text: "go" }] });
  await me.shown("at work");
  await until("agent's child", async () => ((await container.processes()).length >= 4 ? true : undefined));
  return container;
}

async function nothingLeft(container: Container): Promise<void> {
  await until("end of every process", async () => ((await container.processes()).length === 0 ? true : undefined));
}

describe("the end", () => {
  test("SIGTERM in the middle of a turn: all is ended, also what ignores it; status 143", async () => {
    const container = await midTurn();
    process.kill(await container.pid1(), "SIGTERM");
    assert.equal(await container.ended, 143);
    await nothingLeft(container);
  });

  test("SIGKILL of PID 1 in the middle of a turn", async () => {
    const container = await midTurn();
    process.kill(await container.pid1(), "SIGKILL");
    // unshare has no way to tell that it was this signal.
    await container.ended;
    await nothingLeft(container);
  });

  test("SIGKILL of what holds the container in the middle of a turn: its input ends, and so does all", async () => {
    const container = await midTurn();
    process.kill(container.outer, "SIGKILL");
    assert.equal(await container.ended, 137);
    await nothingLeft(container);
  });

  test("the client leaves in the middle of a turn: status 0", async () => {
    const container = await midTurn();
    container.input.end();
    assert.equal(await container.ended, 0);
    await nothingLeft(container);
  });

  test("the agent's own status", async () => {
    const args = ["--", "node", "/mnt/agents/exits-with.mjs", "7"];
    assert.equal(await start(bridge, { args, volumes: { "/mnt": fixtures } }).ended, 7);
  });

  test("a command that is not there: 127; a command line that cannot be used: 2", async () => {
    assert.equal((await runContainer(bridge, { args: ["--", "no-such-agent"] })).status, 127);
    assert.equal((await runContainer(bridge, { args: ["--no-such-option"] })).status, 2);
  });
});

describe("orphans", () => {
  /** The state of the orphan that the agent leaves behind, by the time it has ended. */
  async function orphanIn(entrypoint: string[]): Promise<Container> {
    const container = start(bridge, {
      entrypoint,
      args: ["--", "node", "/mnt/orphans.mjs"],
      volumes: { "/mnt": here },
    });
    await until("orphan", () => (/^orphan \d+$/m.test(container.stderr) ? true : undefined));
    return container;
  }
  const zombies = async (container: Container) =>
    (await container.processes()).filter(({ state }) => state === "Z").length;

  test("are buried while the bridge runs on", async () => {
    const container = await orphanIn(bridge.config.Entrypoint);
    await until("burial of all three", async () => ((await container.processes()).length === 3 ? true : undefined));
    assert.equal(await zombies(container), 0);
    container.input.end();
    assert.equal(await container.ended, 0);
  });

  test("would not be by Node as PID 1", async () => {
    const container = await orphanIn(["node", CLI]);
    await until("zombie", async () => ((await zombies(container)) > 0 ? true : undefined));
    container.input.end();
    assert.equal(await container.ended, 0);
  });
});

describe("the health check", () => {
  const healthcheck = ["node", `${HOME}/healthcheck.mjs`];

  test("of a bridge on stdio: that it runs", async () => {
    assert.equal((await runContainer(bridge, { entrypoint: healthcheck, args: [] })).status, 0);
  });

  test("of a sidecar that answers", async () => {
    const port = await freePort();
    const env = { ACP_SHIFT_OPS: `http://127.0.0.1:${port}` };
    const args = ["serve", "--listen", "ws://127.0.0.1:0", "--", ...DEMO_AGENT];
    const { container } = await serving(bridge, { args, env });
    const { status, stderr } = await runContainer(bridge, { entrypoint: healthcheck, args: [], env });
    assert.equal(status, 0, stderr);
    process.kill(await container.pid1(), "SIGTERM");
    assert.equal(await container.ended, 143);
  });

  test("of a sidecar that does not answer", async () => {
    const env = { ACP_SHIFT_OPS: "http://127.0.0.1:9" };
    const { status, stderr } = await runContainer(bridge, { entrypoint: healthcheck, args: [], env });
    assert.equal(status, 1);
    assert.match(stderr, /\/healthz of http:\/\/127\.0\.0\.1:9: /);
  });
});
