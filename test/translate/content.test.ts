// Guards docs/mapping.md §9: prompt content, content blocks, stop reasons.
import { describe } from "vitest";
import { asArray, asObject, isObject, type JsonObject } from "../../src/protocol/json.ts";
import { contentBlockToV2, promptToV1 } from "../../src/translate/content.ts";
import { stopReasonToV2 } from "../../src/translate/stop-reasons.ts";
import { validateV1, validateV2 } from "../support/schema.ts";
import { firstFault, testCases, testRefusals } from "../support/table.ts";
import * as cases from "./cases/content.ts";

describe("content blocks for the client", () => {
  testCases(
    cases.blocksToV2,
    (input) => contentBlockToV2(input.block),
    (result) => validateV2("ContentBlock", result),
  );
});

describe("prompts for the agent", () => {
  const translate = (input: JsonObject) => {
    const { image, audio, embeddedContext } = asObject(input.offers);
    const offers = { image: image === true, audio: audio === true, embeddedContext: embeddedContext === true };
    return promptToV1(asArray(input.prompt).filter(isObject), offers);
  };
  testCases(cases.prompts, translate, (result) => firstFault(result, (block) => validateV1("ContentBlock", block)));
  testRefusals(cases.promptsRefused, translate);
});

describe("stop reasons", () => {
  testCases(
    cases.stopReasons,
    (input) => stopReasonToV2(input.reason),
    (result) => (result === undefined ? undefined : validateV2("IdleStateUpdate", { stopReason: result })),
  );
});
