// Makes dist/viewer/page.html: the page of `acp-shift trace view` and `trace html`, with script and style in it and a
// content security policy that allows these two, by their hashes, and nothing else. %TRACE% marks where a trace goes.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const inPackage = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));

const bundle = await rolldown({ input: inPackage("src/viewer/page/main.ts"), platform: "browser" });
const { output } = await bundle.generate({ format: "iife", minify: true });
await bundle.close();

// What would end the element early is written otherwise; within a string literal it means the same.
const script = output[0].code.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
const style = readFileSync(inPackage("src/viewer/page/page.css"), "utf8");
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = [
  "default-src 'none'",
  `script-src ${hash(script)}`,
  `style-src ${hash(style)}`,
  "img-src data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

const page = readFileSync(inPackage("src/viewer/page/page.html"), "utf8")
  .replace("%CSP%", () => policy)
  .replace("<style></style>", () => `<style>${style}</style>`)
  .replace("<script></script>", () => `<script>${script}</script>`);
mkdirSync(inPackage("dist/viewer"), { recursive: true });
writeFileSync(inPackage("dist/viewer/page.html"), page);
