// Guards docs/mapping.md §10, hosted files: text is read and written as it is, only within the session's directories, and
// a file is never half written.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { readTextFile, writeTextFile } from "../../src/services/files.ts";
import { faultOf, temporaryDirectory } from "./hosted.ts";

/** The session's `cwd` and one more directory, beside a directory that is none of its own; each has a file `file`. */
function places() {
  const all = temporaryDirectory();
  const [cwd = "", more = "", outside = ""] = ["cwd", "more", "outside"].map((name) => {
    mkdirSync(join(all, name));
    writeFileSync(join(all, name, "file"), `in ${name}\n`);
    return join(all, name);
  });
  const roots = [cwd, join(all, "missing root"), more];
  return {
    cwd,
    more,
    outside,
    read: (path: string, rest = {}) => readTextFile({ sessionId: "s1", path, ...rest }, roots),
    write: (path: string, content: unknown) => writeTextFile({ sessionId: "s1", path, content }, roots),
  };
}

describe("reading", () => {
  const text = "one\ntwo\r\nthree\n\nfive";
  const parts: [number | null | undefined, number | null | undefined, string][] = [
    [undefined, undefined, text],
    [null, null, text],
    [1, undefined, text],
    [0, undefined, text],
    [2, undefined, "two\r\nthree\n\nfive"],
    [2, 1, "two\r\n"],
    [2, 2, "two\r\nthree\n"],
    [undefined, 1, "one\n"],
    [4, 1, "\n"],
    [5, 1, "five"],
    [5, 4_294_967_295, "five"],
    [6, 1, ""],
    [4_294_967_295, undefined, ""],
    [1, 0, ""],
  ];
  test.each(parts)("from line %s, at most %s lines", async (line, limit, content) => {
    const { cwd, read } = places();
    writeFileSync(join(cwd, "text"), text);
    expect(await read(join(cwd, "text"), { line, limit })).toEqual({ content });
  });

  test.each(["\ufeffwith a byte order mark\n", "", "é漢😀", "\n\n"])("gives %j as it is", async (content) => {
    const { cwd, read } = places();
    writeFileSync(join(cwd, "text"), content);
    expect(await read(join(cwd, "text"))).toEqual({ content });
  });

  test("is refused for what is no text file, with the reason", async () => {
    const { cwd, read } = places();
    const faultFor = async (name: string, code: number, message: string) => {
      const path = join(cwd, name);
      expect(await faultOf(() => read(path))).toEqual({ code, message, data: { path } });
    };
    await faultFor("", -32602, "path is a directory");
    writeFileSync(join(cwd, "binary"), "a\0b");
    await faultFor("binary", -32602, "the file is binary");
    writeFileSync(join(cwd, "latin"), Buffer.from([0x61, 0xe9, 0x62]));
    await faultFor("latin", -32602, "the file is not UTF-8 text");
    writeFileSync(join(cwd, "large"), "");
    truncateSync(join(cwd, "large"), 32 * 1024 * 1024 + 1);
    await faultFor("large", -32602, "the file is larger than 32 MiB");
    symlinkSync("loop", join(cwd, "loop"));
    await faultFor("loop", -32603, "the file could not be read: ELOOP");
  });

  test.each(["missing", "missing/too", "file/below a file"])("of a missing file is -32002: %s", async (name) => {
    const { cwd, read } = places();
    const path = join(cwd, name);
    const fault = { code: -32002, message: "the file does not exist", data: { uri: path } };
    expect(await faultOf(() => read(path))).toEqual(fault);
  });
});

describe("writing", () => {
  test.each(["text\n", "", "\ufeffé\r\n", "a\0b"])("stores %j as it is", async (content) => {
    const { cwd, write } = places();
    expect(await write(join(cwd, "new"), content)).toEqual({});
    expect(await write(join(cwd, "file"), content)).toEqual({});
    expect([readFileSync(join(cwd, "new"), "utf8"), readFileSync(join(cwd, "file"), "utf8")]).toEqual([
      content,
      content,
    ]);
    expect(readdirSync(cwd).sort()).toEqual(["file", "new"]);
  });

  test("makes the directories that are missing", async () => {
    const { cwd, write } = places();
    await write(join(cwd, "a", "b", "new"), "text");
    expect(readFileSync(join(cwd, "a", "b", "new"), "utf8")).toBe("text");
  });

  test.each([0o600, 0o755, 0o666])("keeps the mode of the file: %o", async (mode) => {
    const { cwd, write } = places();
    chmodSync(join(cwd, "file"), mode);
    await write(join(cwd, "file"), "text");
    expect(statSync(join(cwd, "file")).mode & 0o7777).toBe(mode);
  });

  test("replaces the file: who has it open still reads the old text", async () => {
    const { cwd, write } = places();
    const before = statSync(join(cwd, "file")).ino;
    await write(join(cwd, "file"), "text");
    expect(statSync(join(cwd, "file")).ino).not.toBe(before);
  });

  test("through a symbolic link writes the file it leads to", async () => {
    const { cwd, more, write } = places();
    symlinkSync(join(more, "file"), join(cwd, "link"));
    await write(join(cwd, "link"), "text");
    expect(readFileSync(join(more, "file"), "utf8")).toBe("text");
    expect(readdirSync(cwd).sort()).toEqual(["file", "link"]);
  });

  test("is refused with the reason, and leaves nothing behind", async () => {
    const { cwd, write } = places();
    const faultFor = async (name: string, message: string) => {
      const path = join(cwd, name);
      expect(await faultOf(() => write(path, "text"))).toEqual({ code: -32602, message, data: { path } });
    };
    await faultFor("", "path is a directory");
    await faultFor("file/below a file", "path goes through a file");
    const noText = { code: -32602, message: "content must be a string" };
    expect(await faultOf(() => write(join(cwd, "new"), undefined))).toEqual(noText);
    const tooLong = join(cwd, "x".repeat(300));
    expect(await faultOf(() => write(tooLong, "text"))).toMatchObject({ code: -32603, data: { path: tooLong } });
    expect([readdirSync(cwd), readFileSync(join(cwd, "file"), "utf8")]).toEqual([["file"], "in cwd\n"]);
  });

  test.skipIf(process.getuid?.() === 0)("is refused for a file that may not be written", async () => {
    const { cwd, write } = places();
    const path = join(cwd, "file");
    chmodSync(path, 0o444);
    const fault = { code: -32603, message: "the file could not be written: EACCES", data: { path } };
    expect(await faultOf(() => write(path, "text"))).toEqual(fault);
  });
});

describe("the session's directories", () => {
  test("are all open, also by way of links and of `..`", async () => {
    const { cwd, more, read } = places();
    symlinkSync(more, join(cwd, "to more"));
    const inMore = { content: "in more\n" };
    expect(await read(join(more, "file"))).toEqual(inMore);
    expect(await read(join(cwd, "to more", "file"))).toEqual(inMore);
    expect(await read(`${cwd}/none/../../${basename(more)}/file`)).toEqual(inMore);
  });

  test("may be named by a link themselves", async () => {
    const { cwd, more } = places();
    symlinkSync(more, join(cwd, "root"));
    const path = join(cwd, "root", "file");
    expect(await readTextFile({ path }, [join(cwd, "root")])).toEqual({ content: "in more\n" });
    expect(await writeTextFile({ path: join(cwd, "root", "new"), content: "" }, [join(cwd, "root")])).toEqual({});
  });

  const elsewhere = "path leads outside the session's directories";
  const nowhere = "path goes through a symbolic link that leads nowhere";
  const escapes: [string, (at: { cwd: string; outside: string }) => string, string][] = [
    ["another directory", ({ outside }) => join(outside, "file"), elsewhere],
    ["a new file in another directory", ({ outside }) => join(outside, "new"), elsewhere],
    ["a parent", ({ cwd }) => `${cwd}/../outside/file`, elsewhere],
    ["a directory with a root's name at its start", ({ cwd }) => `${cwd}2/new`, elsewhere],
    ["a link to a file elsewhere", ({ cwd }) => join(cwd, "link", "file"), elsewhere],
    ["a new file behind a link elsewhere", ({ cwd }) => join(cwd, "link", "a", "new"), elsewhere],
    ["a link that leads nowhere", ({ cwd }) => join(cwd, "dangling"), nowhere],
    ["a new file behind a link that leads nowhere", ({ cwd }) => join(cwd, "dangling", "new"), nowhere],
  ];
  test.each(escapes)("do not include %s", async (_title, where, message) => {
    const { cwd, outside, read, write } = places();
    symlinkSync(outside, join(cwd, "link"));
    symlinkSync(join(outside, "not there"), join(cwd, "dangling"));
    const path = where({ cwd, outside });
    const fault = { code: -32602, message, data: { path } };
    expect(await faultOf(() => read(path))).toEqual(fault);
    expect(await faultOf(() => write(path, "text"))).toEqual(fault);
    expect([readdirSync(outside), existsSync(`${cwd}2`)]).toEqual([["file"], false]);
  });

  test("none: nothing is read or written", async () => {
    const { cwd } = places();
    expect(await faultOf(() => readTextFile({ path: join(cwd, "file") }, []))).toMatchObject({ code: -32602 });
  });
});

describe("params", () => {
  const wrong: [object, string][] = [
    [{}, "path must be a string"],
    [{ path: "file" }, "path must be an absolute path"],
    [{ path: "/a\0" }, "path must not contain NUL"],
    [{ path: "/a", line: -1 }, "line must be an unsigned integer"],
    [{ path: "/a", limit: "1" }, "limit must be an unsigned integer"],
  ];
  test.each(wrong)("%j are refused", async (params, message) => {
    expect(await faultOf(() => readTextFile({ ...params }, ["/"]))).toEqual({ code: -32602, message });
  });
});
