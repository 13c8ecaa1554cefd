// Guards docs/remote.md: the token is presented where one is asked for, and shown to nobody else.
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import type { Address } from "../../src/remote/address.ts";
import { dialler } from "../../src/remote/connect.ts";
import { tokenOf } from "../../src/remote/token.ts";

const token = tokenOf("open-sesame");

/** All that arrives at the other end of a connection on which one line is written. */
async function received(listen: { path: string } | { port: number; host: string }): Promise<string> {
  const server = createServer().listen(listen);
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const bound = server.address();
  const address: Address =
    typeof bound === "object" && bound !== null
      ? { scheme: "tcp", host: bound.address, port: bound.port }
      : { scheme: "unix", path: String(bound) };
  const connection = once(server, "connection");
  const dial = await dialler(address, { token, maxFrame: 1024 });
  const stream = dial();
  stream.end("hello\n");
  const [socket] = (await connection) as [Socket];
  const all = await text(socket);
  stream.destroy();
  return all;
}

test("over tcp it comes first", async () => {
  expect(await received({ port: 0, host: "127.0.0.1" })).toBe(`${token.line}hello\n`);
});

test("over unix nobody asks for it, and nobody gets it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "acp-shift-dial-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  expect(await received({ path: join(folder, "agent.sock") })).toBe("hello\n");
});
