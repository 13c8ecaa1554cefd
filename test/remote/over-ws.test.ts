// Guards docs/remote.md: over a WebSocket the bridge is what it is on stdio. Tests from end to end run unchanged; what they
// start is `acp-shift serve`, reached over this transport (test/fixtures/peers/over.mjs).
process.env["TEST_TRANSPORT"] = "ws";
await import("../e2e/waiting.test.ts");
await import("../e2e/sessions.test.ts");
await import("../e2e/pass-through.test.ts");

export {};
