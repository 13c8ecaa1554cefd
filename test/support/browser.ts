// The browser the trace viewer is tested in: the Chromium that is installed, without a window.
import { existsSync } from "node:fs";
import { type Browser, chromium, type Page } from "playwright-core";
import { expect } from "vitest";

/** Where Debian's `chromium` is, unless ACP_SHIFT_TEST_CHROMIUM names another. */
const executablePath = process.env["ACP_SHIFT_TEST_CHROMIUM"] ?? "/usr/bin/chromium";

/** True when the tests in a browser are left out on purpose. */
export const withoutBrowser = executablePath === "none";

/** It reaches for nothing outside, and needs no display, no graphics card and no user namespaces. */
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
];

export async function launchBrowser(): Promise<Browser> {
  if (!existsSync(executablePath))
    throw new Error(
      `there is no ${executablePath}: install Chromium (Debian: apt-get install chromium), name it in ` +
        "ACP_SHIFT_TEST_CHROMIUM, or set that to none to leave the tests in a browser out",
    );
  return chromium.launch({ executablePath, args: FLAGS });
}

/** What went wrong in a page, and what it asked for. */
export interface Watched {
  page: Page;
  errors: string[];
  requests: string[];
}

/** Opens an address in a page of its own, and waits until the trace has been read. */
export async function openPage(
  browser: Browser,
  url: string,
  options: { colorScheme?: "light" | "dark"; permissions?: string[] } = {},
): Promise<Watched> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, ...options });
  const watched: Watched = { page, errors: [], requests: [] };
  page.on("pageerror", ({ message }) => watched.errors.push(message));
  page.on("console", (message) => {
    if (message.type() === "error") watched.errors.push(message.text());
  });
  page.on("request", (request) => watched.requests.push(request.url()));
  await page.goto(url);
  await expect.poll(() => page.locator("#reading").textContent(), { timeout: 40_000 }).not.toBe("reading…");
  return watched;
}
