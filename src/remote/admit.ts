import { ErrorCode, rpcError } from "../protocol/errors.ts";
import type { RequestId } from "../protocol/frames.ts";
import { type Client, initializeId, type Reception, refuse } from "./arrival.ts";
import { parseJson } from "./line.ts";
import { type Token, tokenIn } from "./token.ts";

const LINE_FEED = 0x0a;

/** So much is held of somebody who has not come in yet, in bytes. */
const FIRST_MESSAGE = 1024 * 1024;

/**
 * Lets in a client that speaks in lines: its first message has to be `initialize`, with the token before it where one is
 * asked for, and there has to be a place. Until then no agent runs for it. Whoever is refused is told why.
 *
 * @param token asked for on this stream itself; undefined where it is not, or was presented already
 */
export function admit(client: Client, reception: Reception, token: Token | undefined): void {
  const { stream, transport, peer } = client;
  const { gate, log } = reception;
  const limit = Math.min(reception.maxFrame, FIRST_MESSAGE);
  let held: Buffer[] = [];
  let size = 0;
  let recognised = token === undefined;

  const leaveQueue = gate.wait((reason) => turnAway(ErrorCode.internalError, reason));

  function turnAway(code: number, reason: string, id?: RequestId): void {
    stopReading();
    log.warn("connection-refused", { transport, peer, reason });
    refuse(stream, rpcError(code, reason), id);
  }

  function stopReading(): void {
    leaveQueue();
    stream.off("data", read).off("end", gone).off("error", gone).off("close", gone);
    held = [];
  }

  function gone(): void {
    stopReading();
    stream.on("error", () => {}).destroy();
  }

  function read(chunk: Buffer): void {
    held.push(chunk);
    size += chunk.length;
    if (!chunk.includes(LINE_FEED)) {
      if (size > limit) turnAway(ErrorCode.invalidRequest, `the first message exceeds ${limit} bytes`);
      return;
    }
    let rest: Buffer = Buffer.concat(held);
    for (let end = rest.indexOf(LINE_FEED); end !== -1; end = rest.indexOf(LINE_FEED)) {
      const line = rest.toString("utf8", 0, end).trim();
      if (line !== "" && !isToken(line)) return judge(line, rest);
      rest = rest.subarray(end + 1);
    }
    held = [rest];
    size = rest.length;
  }

  /** Takes a token where one is presented; a wrong one counts as none. */
  function isToken(line: string): boolean {
    const given = tokenIn(parseJson(line));
    if (given !== undefined && token?.matches(given)) recognised = true;
    return given !== undefined;
  }

  /** @param bytes what was read, from this line on */
  function judge(line: string, bytes: Buffer): void {
    const id = initializeId(parseJson(line));
    if (id === undefined) return turnAway(ErrorCode.invalidRequest, "the first message has to be initialize");
    if (!recognised) return turnAway(ErrorCode.authRequired, "a token is needed, or another one (--token-file)", id);
    const leave = gate.enter();
    if (leave === undefined) return turnAway(ErrorCode.internalError, gate.full, id);
    stopReading();
    stream.pause();
    stream.unshift(bytes);
    reception.welcome(client, leave);
  }

  stream.on("data", read).on("end", gone).on("error", gone).on("close", gone);
}
