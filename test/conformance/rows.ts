// Every row of the public conformance kit for v2 agents, which acp-shift is one of to its client.
import type { Row } from "./kit.ts";
import { authenticationRows } from "./rows/authentication.ts";
import { connectionRows } from "./rows/connection.ts";
import { sessionRows } from "./rows/sessions.ts";
import { turnRows } from "./rows/turns.ts";

export const rows: readonly Row[] = [...connectionRows, ...authenticationRows, ...sessionRows, ...turnRows];
