// Guards the page of `acp-shift trace view` and `trace html` as a person has it, in a real browser: what it shows, that
// its two sides are linked, filters, search, forms, keys, colours, that it draws only what is seen, that it follows a
// run, and that nothing in a trace is ever more than text.
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { asObject, isObject } from "../../src/protocol/json.ts";
import { existingParts } from "../../src/trace/files.ts";
import type { TraceRecord } from "../../src/trace/format.ts";
import { bridgeForTest, CLI } from "../support/bridge-process.ts";
import { launchBrowser, openPage, type Watched, withoutBrowser } from "../support/browser.ts";
import { openSession, turn } from "../support/conversation.ts";
import { runProgram } from "../support/programs.ts";
import { rawAgent, says } from "../support/raw-agent.ts";
import { traceFile } from "../support/recorded.ts";
import { longStory, story } from "../support/story.ts";
import { readTraceFile, traceDirectory } from "../support/trace-file.ts";
import { startView } from "../support/trace-view.ts";

let browser: Browser;
beforeAll(async () => {
  if (!withoutBrowser) browser = await launchBrowser();
});
afterAll(() => browser?.close());

let directory: string;
let storyPage: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "acp-shift-viewer-"));
  storyPage = await writeHtml(story(), "story.html");
});
afterAll(() => rmSync(directory, { recursive: true }));

/** Has `trace html` write the page of a trace; its address. */
async function writeHtml(records: readonly TraceRecord[], name: string): Promise<string> {
  const [file, out] = [join(directory, "trace.jsonl"), join(directory, name)];
  writeFileSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(""));
  const { code, stderr } = await runProgram([process.execPath, CLI, "trace", "html", file, "-o", out]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return pathToFileURL(out).href;
}

async function openHtml(url: string, options: Parameters<typeof openPage>[2] = {}): Promise<Watched> {
  const watched = await openPage(browser, url, options);
  onTestFinished(() => watched.page.close());
  return watched;
}

/** The text of an element as a person sees it. */
// biome-ignore lint/performance/useDomNodeTextContent: line breaks and what is hidden matter
const seen = (locator: Locator) => locator.innerText();
const conversation = (page: Page) => page.locator("#conversation");
const sequence = (page: Page) => page.locator("#sequence");
const detail = (page: Page) => page.locator("#detail");
const part = (page: Page, text: string) => conversation(page).locator("[role=option]", { hasText: text });
const row = (page: Page, text: string) => sequence(page).locator("[role=option]", { hasText: text });
const selected = (page: Page, pane: "conversation" | "sequence") =>
  page.locator(`#${pane} [role=option][aria-selected=true]`);
/** The id of the element that has the focus. */
const focused = (page: Page) => page.evaluate<string>("document.activeElement.id");

describe.skipIf(withoutBrowser)("the page", () => {
  test("shows the conversation as the client saw it, from a file, asking for nothing", async () => {
    const { page, errors, requests } = await openHtml(storyPage);
    const text = (await seen(conversation(page))).replace(/\s*\n\s*/g, "\n");
    for (const said of [
      "You\nMake it 2",
      "Thought\nThe second line is to change.",
      "✎\nEdit a.txt\ncompleted",
      "running",
    ])
      expect(text).toContain(said);
    await expect.poll(() => seen(part(page, "modify /work/a.txt"))).toContain("-two\n+2");
    await expect.poll(() => seen(part(page, "Edit a.txt").nth(1))).toContain("✔ Allow");
    await conversation(page).focus();
    await page.keyboard.press("End");
    await expect.poll(() => seen(part(page, "cat a.txt"))).toContain("one\n2\nthree");
    await expect.poll(() => seen(part(page, "All done"))).toContain("All done, the file says 2 now.");
    await expect.poll(() => seen(conversation(page))).toContain("The model is overloaded (-32603)");
    expect(await page.title()).toContain("agent --acp");
    expect(errors).toEqual([]);
    expect(requests.filter((url) => !/^(file|data):/.test(url))).toEqual([]);
  });

  test("marks in the diagram what is selected in the conversation, and the other way round", async () => {
    const { page } = await openHtml(storyPage);
    await part(page, "The second line is to change.").click();
    await expect.poll(() => sequence(page).locator(".linked").count()).toBe(6);
    await expect.poll(() => seen(selected(page, "sequence"))).toContain("agent_thought_chunk");
    await row(page, "session/request_permission").last().click();
    await expect.poll(() => seen(selected(page, "conversation"))).toContain("✔ Allow");
    await expect.poll(() => seen(detail(page))).toContain("session/request_permission");
    expect(await page.evaluate("location.hash")).toMatch(/^#\d+$/);
  });

  test("shows the two forms of a message beside each other, and its JSON", async () => {
    const { page } = await openHtml(storyPage);
    await row(page, "tool_call c1").click();
    const differing = detail(page).locator("tr.differs");
    await expect.poll(() => differing.count()).toBeGreaterThan(0);
    const cells = await differing.first().locator("td").allInnerTexts();
    expect(cells).toEqual([
      expect.stringContaining('"sessionUpdate": "tool_call_update"'),
      expect.stringContaining('"sessionUpdate": "tool_call"'),
    ]);
    expect(await detail(page).locator("th").allInnerTexts()).toEqual([
      expect.stringContaining("ACP v2"),
      expect.stringContaining("ACP v1"),
    ]);
    await detail(page).getByRole("tab", { name: "JSON" }).click();
    await expect.poll(() => seen(detail(page).locator("pre"))).toContain('"leg": "agent-bridge"');
    await detail(page)
      .getByRole("button", { name: /led to/ })
      .click();
    await expect.poll(() => seen(detail(page).locator("pre"))).toContain('"leg": "bridge-client"');
  });

  test("filters by method, kind, leg, session and errors", async () => {
    const { page } = await openHtml(storyPage);
    const rows = sequence(page).locator("[role=option]");
    const names = () => rows.locator(".name").allInnerTexts();
    await page.getByLabel("Method").selectOption("session/request_permission");
    await expect.poll(names).toEqual(Array(4).fill("session/request_permission"));
    await page.getByLabel("Kind of record").selectOption("result");
    await expect.poll(() => rows.count()).toBe(1);
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByRole("button", { name: /^Errors 3/ }).click();
    await expect.poll(() => rows.count()).toBe(3);
    await page.getByRole("button", { name: "Clear filters" }).click();
    for (const leg of ["client to bridge", "bridge to client", "bridge to agent"])
      await page.getByRole("button", { name: leg }).click();
    await page.getByLabel("Kind of record").selectOption("request");
    await expect.poll(names).toEqual(["session/request_permission", "session/request_permission"]);
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByLabel("Session", { exact: true }).selectOption("s1");
    await expect.poll(() => seen(rows.first())).toContain("initialize");
  });

  test("finds text, also across the frames it came in, and marks it", async () => {
    const { page } = await openHtml(storyPage);
    await page.getByLabel("Search in all records").fill("FILE SAYS 2");
    await expect.poll(() => conversation(page).locator("mark").allInnerTexts()).toEqual(["file says 2"]);
    await expect.poll(() => seen(page.locator("#status"))).toMatch(/^7 of \d+ rows/);
    expect(await part(page, "Make it 2").getAttribute("class")).toContain("dim");
    await page.keyboard.press("Enter");
    await expect.poll(() => seen(selected(page, "conversation"))).toContain("All done");
    await page.keyboard.press("Escape");
    await expect.poll(() => seen(page.locator("#status"))).toMatch(/^\d+ records$/);
  });

  test("can be used with the keyboard alone", async () => {
    const { page } = await openHtml(storyPage);
    await page.keyboard.press("/");
    expect(await focused(page)).toBe("search");
    await page.keyboard.type("Edit a.txt");
    await page.keyboard.press("Enter");
    await expect.poll(() => selected(page, "sequence").count()).toBe(1);
    const first = await seen(selected(page, "sequence"));
    await page.keyboard.press("Enter");
    await expect.poll(() => seen(selected(page, "sequence"))).not.toBe(first);
    await page.keyboard.press("Escape");
    await page.keyboard.press("1");
    expect(await focused(page)).toBe("conversation");
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => seen(selected(page, "conversation"))).toContain("Make it 2");
    const active = await conversation(page).getAttribute("aria-activedescendant");
    expect(await selected(page, "conversation").getAttribute("id")).toBe(active);
    await page.keyboard.press("End");
    await expect.poll(() => seen(selected(page, "conversation"))).toContain("The model is overloaded");
    await page.keyboard.press("2");
    expect(await focused(page)).toBe("sequence");
    await page.keyboard.press("Enter");
    expect(await focused(page)).toBe("detail");
    await page.keyboard.press("Escape");
    expect(await focused(page)).toBe("sequence");
    await page.keyboard.press("Home");
    await page.keyboard.press("]");
    await expect.poll(() => seen(page.locator("#readout"))).toContain("turn 1/2");
    await page.keyboard.press("]");
    await expect.poll(() => seen(page.locator("#readout"))).toContain("turn 2/2");
    await page.keyboard.press("e");
    await expect.poll(() => seen(detail(page))).toContain("oops!");
    await page.keyboard.press("?");
    expect(await page.getByRole("dialog").isVisible()).toBe(true);
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByRole("dialog").isVisible()).toBe(false);
    await page.keyboard.press("Escape");
    await expect.poll(() => selected(page, "sequence").count()).toBe(0);
  });

  test("unfolds with Enter what a tool call was given", async () => {
    const { page } = await openHtml(storyPage);
    await page.keyboard.press("1");
    await page.keyboard.press("End");
    await part(page, "Look at it").click();
    await page.keyboard.press("Enter");
    await expect.poll(() => seen(part(page, "Look at it").locator("details pre"))).toContain('"command": "cat a.txt"');
    await page.keyboard.press("Enter");
    await expect.poll(() => part(page, "Look at it").locator("details pre").isVisible()).toBe(false);
  });

  test("can be walked through by Tab, and shows where one is", async () => {
    const { page } = await openHtml(storyPage);
    const stops: string[] = [];
    for (let presses = 0; presses < 24; presses++) {
      await page.keyboard.press("Tab");
      const [name, outline] = await page.evaluate<[string, number]>(
        "[document.activeElement.id || document.activeElement.textContent, parseFloat(getComputedStyle(document.activeElement).outlineWidth)]",
      );
      if (name === "") continue;
      stops.push(name);
      expect(outline, name).toBeGreaterThanOrEqual(1);
    }
    const order = [
      "theme",
      "search",
      "session",
      "method",
      "kind",
      "faults",
      "conversation",
      "columns",
      "sequence",
      "rows",
      "detail",
    ];
    expect(stops.filter((stop) => order.includes(stop))).toEqual(expect.arrayContaining(order));
    expect(stops.filter((stop) => order.includes(stop)).slice(0, order.length)).toEqual(order);
  });

  test.each(["light", "dark"] as const)(
    "can be read in %s: every text has a contrast of 4.5 or more",
    async (colorScheme) => {
      const { page } = await openHtml(storyPage, { colorScheme });
      await row(page, "tool_call c1").click();
      await page.getByRole("button", { name: "Help" }).click();
      const inHelp = await page.evaluate<unknown[]>(CONTRASTS);
      await page.keyboard.press("Escape");
      const atTop = await page.evaluate<unknown[]>(CONTRASTS);
      await page.keyboard.press("1");
      await page.keyboard.press("End");
      const atEnd = await page.evaluate<unknown[]>(CONTRASTS);
      const all = [...inHelp, ...atTop, ...atEnd].filter(isObject);
      expect(all.length).toBeGreaterThan(100);
      expect(all.filter(({ contrast }) => Number(contrast) < 4.5)).toEqual([]);
      const ground = await page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
      const [red = 0] = (/\d+/.exec(ground) ?? []).map(Number);
      expect(red > 128).toBe(colorScheme === "light");
    },
  );

  test("changes its colours on demand", async () => {
    const { page } = await openHtml(storyPage, { colorScheme: "light" });
    const ground = () => page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
    const light = await ground();
    await page.locator("#theme").click();
    await page.locator("#theme").click();
    await expect.poll(ground).not.toBe(light);
    expect(await seen(page.locator("#theme"))).toBe("Theme: dark");
    await page.locator("#theme").click();
    await expect.poll(ground).toBe(light);
  });

  test("draws only what can be seen of 100 000 frames", { timeout: 180_000 }, async () => {
    const { page, errors } = await openHtml(await writeHtml(longStory(100_000), "long.html"));
    await expect.poll(() => seen(page.locator("#status")), { timeout: 40_000 }).toMatch(/^100,\d\d\d records$/);
    const nodes = () => page.evaluate<number>("document.getElementsByTagName('*').length");
    const scrollTo = (pane: string, share: number) =>
      page.evaluate(
        `new Promise((done) => { const pane = document.getElementById("${pane}");
          pane.scrollTop = (pane.scrollHeight - pane.clientHeight) * ${share};
          requestAnimationFrame(() => requestAnimationFrame(done)); })`,
      );
    for (const share of [0, 0.1, 0.37, 0.5, 0.99, 1, 0]) {
      await scrollTo("sequence", share);
      await scrollTo("conversation", share);
      expect(await nodes(), `at ${share}`).toBeLessThan(2_000);
      expect(await sequence(page).locator("[role=option]").count()).toBeLessThan(80);
      expect(await conversation(page).locator("[role=option]").count()).toBeLessThan(120);
    }
    await page.keyboard.press("2");
    await page.keyboard.press("End");
    await expect.poll(() => seen(selected(page, "sequence"))).toContain("end");
    await page.keyboard.press("/");
    await page.keyboard.type("Answer number 1234 ");
    await page.keyboard.press("Enter");
    await expect.poll(() => seen(selected(page, "conversation"))).toContain("Answer number 1234 in a good many");
    expect(await nodes()).toBeLessThan(2_000);
    expect(errors).toEqual([]);
  });

  test("follows a run as it goes on, and says when it is over", async () => {
    const records = story();
    const thought = records.findLastIndex((record) => JSON.stringify(record).includes("agent_thought_chunk")) + 1;
    const file = traceFile(records.slice(0, thought));
    const { url } = await startView("--live", file);
    const { page, errors, requests } = await openPage(browser, url);
    onTestFinished(() => page.close());
    await expect.poll(() => seen(page.locator("#reading"))).toBe("live");
    await expect.poll(() => seen(page.locator("#status"))).toBe(`${thought - 1} records`);
    await part(page, "The second line").click();
    appendFileSync(
      file,
      records
        .slice(thought, thought + 20)
        .map((record) => `${JSON.stringify(record)}\n`)
        .join(""),
    );
    await expect.poll(() => part(page, "modify /work/a.txt").count()).toBe(1);
    await expect.poll(() => seen(selected(page, "conversation"))).toContain("The second line is to change.");
    appendFileSync(
      file,
      records
        .slice(thought + 20)
        .map((record) => `${JSON.stringify(record)}\n`)
        .join(""),
    );
    await expect.poll(() => seen(page.locator("#reading"))).toBe("");
    await expect.poll(() => seen(page.locator("#status"))).toBe(`${records.length - 1} records`);
    expect(requests.filter((asked) => !asked.startsWith(url) && !asked.startsWith("data:"))).toEqual([]);
    expect(errors).toEqual([]);
  });

  test("follows a run into the parts it is written on in, however small they are", async () => {
    const file = join(traceDirectory(), "trace.jsonl");
    const agent = rawAgent({
      "session/prompt": [says({ $repeat: "word ", times: 1200 }), { result: { stopReason: "end_turn" } }],
    });
    const bridge = bridgeForTest(agent, { options: ["--trace", file, "--trace-limit", "64KiB"] });
    const session = await openSession(bridge);
    const { url } = await startView("--live", file);
    const { page, errors } = await openPage(browser, url);
    onTestFinished(() => page.close());
    const lastRows = async () => {
      await sequence(page).press("End");
      return seen(sequence(page));
    };
    for (let number = 1; number <= 7; number++) {
      await turn(bridge, session, `question ${number}.`);
      await expect.poll(lastRows).toContain(`question ${number}.`);
    }
    await bridge.end();
    await expect.poll(() => seen(page.locator("#reading"))).toBe("");
    const newest = existingParts(file).at(-1);
    expect(newest?.part).toBeGreaterThan(5);
    const { records } = asObject(readTraceFile(newest?.path ?? "", { gaps: true }).at(-1)?.record);
    expect(await seen(page.locator("#status"))).toBe(`${records} records`);
    expect(errors).toEqual([]);
  });

  test("says so when the view has ended", async () => {
    const { url, stop } = await startView("--live", traceFile(story().slice(0, 20)));
    const { page } = await openPage(browser, url);
    onTestFinished(() => page.close());
    await expect.poll(() => seen(page.locator("#status"))).toBe("19 records");
    await stop();
    await expect.poll(() => seen(page.locator("#reading"))).toContain("has ended");
  });

  test("opens at the record its address names", async () => {
    const file = traceFile(story());
    const { url } = await startView(file);
    const { page } = await openPage(browser, `${url}#30`);
    onTestFinished(() => page.close());
    await expect.poll(() => seen(detail(page).locator("h2"))).toContain("#30");
  });

  test("has its time line drawn, folded between turns and to scale", async () => {
    const { page } = await openHtml(storyPage);
    const readoutAt = async (share: number) => {
      const box = await page.locator("canvas").boundingBox();
      await page.mouse.move((box?.x ?? 0) + (box?.width ?? 0) * share, (box?.y ?? 0) + 25);
      return seen(page.locator("#readout"));
    };
    expect(await readoutAt(0.5)).toContain("turn 1/2");
    await page.getByRole("button", { name: "True scale" }).click();
    await expect.poll(() => readoutAt(0.5)).toMatch(/^30\d\.\d+ s$/);
    await page.locator("canvas").focus();
    for (let presses = 0; presses < 20; presses++) await page.keyboard.press("+");
    for (let presses = 0; presses < 20; presses++) await page.keyboard.press("ArrowLeft");
    const [from, to] = [Number.parseFloat(await readoutAt(0)), Number.parseFloat(await readoutAt(0.98))];
    expect(to - from).toBeLessThan(5);
    await page.keyboard.press("0");
    await expect.poll(() => readoutAt(0.99).then(Number.parseFloat)).toBeGreaterThan(590);
  });

  test("shows hostile text as text", async () => {
    const hostile = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script></script><b>bold</b> javascript:alert(1) %TRACE% ]]> &lt; \u202e\u2028`;
    const records = story(hostile).map((record) => replaced(record, hostile)) as TraceRecord[];
    const { page, errors, requests } = await openHtml(await writeHtml(records, "hostile.html"));
    const before = requests.length;
    await page.keyboard.press("2");
    for (let rows = 0; rows < 60; rows++) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("1");
    await page.keyboard.press("Home");
    for (let parts = 0; parts < 20; parts++) {
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
    }
    await page.keyboard.press("/");
    await page.keyboard.type("<img src=x");
    await page.keyboard.press("Enter");
    await expect.poll(() => conversation(page).locator("mark").count()).toBeGreaterThan(0);
    expect(await page.evaluate("window.hacked")).toBe(undefined);
    expect(await page.locator("img, main script, main a, iframe, main b:not(.name):not(.part b)").count()).toBe(0);
    expect(await seen(conversation(page))).toContain(`<img src=x onerror="window.hacked=1">`);
    expect(requests.slice(before)).toEqual([]);
    expect(errors).toEqual([]);
  });
});

/** The value with every free text in it replaced: not what the format and the protocol give a meaning to. */
function replaced(value: unknown, text: string, key = ""): unknown {
  if (Array.isArray(value)) return value.map((item) => replaced(item, text, key));
  if (isObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, replaced(item, text, name)]));
  const free = [
    "title",
    "name",
    "text",
    "message",
    "description",
    "path",
    "command",
    "sessionId",
    "session",
    "status",
    "kind",
  ];
  const isRecordKind = key === "kind" && /^(request|notification|result|error|invalid)$/.test(String(value));
  return typeof value === "string" && free.includes(key) && !isRecordKind ? text : value;
}

/** Run in the page: for each text that is seen, its contrast with what is behind it (WCAG 2). */
const CONTRASTS = `(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const numbers = (colour) => {
    if (!known.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      known.set(colour, [...canvas.getImageData(0, 0, 1, 1).data]);
    }
    return known.get(colour);
  };
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = numbers(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { parentElement: element, data } = walker.currentNode;
    if (data.trim() === "" || !element.checkVisibility() || ["SCRIPT", "OPTION", "NOSCRIPT"].includes(element.tagName)) continue;
    const [one, other] = [luminance(numbers(getComputedStyle(element).color)), luminance(behind(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    found.push({ text: data.slice(0, 40), of: element.className + " in " + element.parentElement.className, contrast });
  }
  return found;
})()`;
