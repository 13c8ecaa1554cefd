// Guards who gets a trace from `acp-shift trace view`, and that its page and that of `trace html` ask nobody for anything.
import { appendFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import type { TraceRecord } from "../../src/trace/format.ts";
import { CLI } from "../support/bridge-process.ts";
import { runProgram } from "../support/programs.ts";
import { createRecorder, traceFile } from "../support/recorded.ts";
import { story } from "../support/story.ts";
import { startView } from "../support/trace-view.ts";

const lineOf = (record: TraceRecord) => `${JSON.stringify(record)}\n`;

/** The answer to a request with headers as given: `fetch` would not send another Host. */
function ask(url: string, host: string, method = "GET"): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const request = get(url, { headers: { host }, method }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (text: string) => {
        body += text;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
    });
    request.on("error", reject);
  });
}

test("only who has the token and comes by this machine's name is answered", async () => {
  const { url, stop } = await startView(traceFile(story()));
  const { host, hostname, pathname, port, origin } = new URL(url);
  expect(hostname).toBe("127.0.0.1");
  expect(pathname.length).toBeGreaterThan(30);
  expect((await ask(url, host)).status).toBe(200);
  expect((await ask(url, `localhost:${port}`)).status).toBe(200);
  const token = pathname.slice(1, -1);
  const wrong = `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`;
  for (const path of ["/", "/events", `/${wrong}/`, `/${wrong}/events`, `/${token}x/`, "//", "/%00/"])
    expect(await ask(origin + path, host), path).toEqual({ status: 403, body: "403\n" });
  for (const name of ["evil.example", `evil.example:${port}`, "127.0.0.1", `127.0.0.1.evil.example:${port}`])
    expect((await ask(url, name)).status, name).toBe(403);
  expect((await ask(`${url}events`, `evil.example:${port}`)).status).toBe(403);
  expect((await ask(url, host, "POST")).status).toBe(405);
  for (const path of ["x", "../", "events/", "page.html"]) expect((await ask(url + path, host)).status).not.toBe(200);
  expect(await stop()).toBe(0);
});

test("the page forbids itself everything but its own script and style, and being framed or kept", async () => {
  const { url } = await startView(traceFile(story()));
  const response = await fetch(url);
  const page = await response.text();
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect(response.headers.get("content-security-policy")).toBe("frame-ancestors 'none'");
  expect(response.headers.get("referrer-policy")).toBe("no-referrer");
  const [, policy] = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page) ?? [];
  expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-[^' ]+'; style-src 'sha256-[^' ]+';/);
  expect(policy).not.toMatch(/unsafe|\*|https?:/);
  expect(page).not.toMatch(/(?:src|href)="(?!data:)/);
});

test("the records are sent as events, whole and in order", async () => {
  const records = story();
  const { url } = await startView(traceFile(records));
  const text = await (await fetch(`${url}events`)).text();
  const data = text.split("\n").filter((line) => line.startsWith("data: {"));
  expect(data.map((line) => JSON.parse(line.slice(6)))).toEqual(records);
  expect(text.endsWith("event: end\ndata: \n\n")).toBe(true);
});

test("with --live the records that come are sent as they come, until the run ends", async () => {
  const records = story();
  const file = traceFile(records.slice(0, 10));
  const { url } = await startView("--live", file);
  const response = await fetch(`${url}events`);
  const reader = (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const until = async (wanted: string) => {
    while (!text.includes(wanted)) {
      const { done, value } = await reader.read();
      if (done) throw new Error(`no ${wanted} in ${text}`);
      text += value;
    }
  };
  await until('"seq":9,');
  expect(text).toContain("event: ready");
  const [first = "", ...others] = records.slice(10).map(lineOf);
  appendFileSync(file, first.slice(0, 20));
  appendFileSync(file, first.slice(20));
  await until('"seq":10,');
  appendFileSync(file, others.join(""));
  await until("event: end");
  const data = text.split("\n").filter((line) => line.startsWith("data: {"));
  expect(data.map((line) => JSON.parse(line.slice(6)))).toEqual(records);
});

test.each([
  [["/nowhere/trace.jsonl"], /no such file/],
  [["-"], /needs a file/],
  [["--port", "70000", "FILE"], /--port: expected a number up to 65535/],
  [["--port", "x", "FILE"], /--port/],
])("%s is refused", async (args, complaint) => {
  const file = traceFile(story());
  const words = args.map((word) => (word === "FILE" ? file : word));
  const { code, stderr } = await runProgram([process.execPath, CLI, "trace", "view", "--no-open", ...words]);
  expect(stderr).toMatch(complaint);
  expect(code).toBe(2);
});

test("a port that is taken is told", async () => {
  const file = traceFile(story());
  const { url } = await startView(file);
  const { port } = new URL(url);
  const { code, stderr } = await runProgram([
    process.execPath,
    CLI,
    "trace",
    "view",
    "--no-open",
    "--port",
    port,
    file,
  ]);
  expect(stderr).toContain(`--port ${port}`);
  expect(code).toBe(2);
});

test("trace html writes one file, readable by its owner only, from which nothing in the trace can break out", async () => {
  const run = createRecorder();
  run.add({ type: "stderr", text: "</script><script>alert(1)</script><!-- \u2028\u2029 %TRACE%" });
  const records = run.end();
  const file = traceFile(records);
  const out = join(dirname(file), "out.html");
  const { code, stderr } = await runProgram([process.execPath, CLI, "trace", "html", file, "-o", out]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(statSync(out).mode & 0o777).toBe(0o600);
  const page = readFileSync(out, "utf8");
  const [, inPage = ""] = /<script type="application\/x-ndjson" id="trace">([\s\S]*?)<\/script>/.exec(page) ?? [];
  expect(inPage).not.toMatch(/[<\u2028\u2029]/);
  expect(
    inPage
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual(records);
  expect(page.match(/<script/g)).toHaveLength(2);
});

test("trace html keeps what was there when the input is no trace, and says where it cannot write", async () => {
  const file = traceFile([{ no: "trace" }]);
  const out = join(dirname(file), "out.html");
  writeFileSync(out, "mine");
  const refused = await runProgram([process.execPath, CLI, "trace", "html", file, "-o", out]);
  expect(refused.code).toBe(2);
  expect(readFileSync(out, "utf8")).toBe("mine");
  const nowhere = await runProgram([
    process.execPath,
    CLI,
    "trace",
    "html",
    traceFile(story()),
    "-o",
    "/nowhere/x.html",
  ]);
  expect(nowhere.stderr).toContain("cannot write /nowhere/x.html");
  expect(nowhere.code).toBe(2);
  const unsaid = await runProgram([process.execPath, CLI, "trace", "html", traceFile(story())]);
  expect(unsaid.stderr).toContain("-o");
  expect(unsaid.code).toBe(2);
});
