/** How many lines are taken in at once: between such pieces the page can be used. */
const PIECE = 4_000;

/** What tells how reading goes on. */
export interface Progress {
  /** Lines came. */
  lines(lines: readonly string[]): void;
  /** All that is there has been read; `live` when more may come. */
  done(live: boolean): void;
  failed(why: string): void;
}

/**
 * Reads the trace: the one in the page, where `acp-shift trace html` put one, else what the server of
 * `acp-shift trace view` sends, which may go on as long as the run does.
 */
export function load(inPage: HTMLElement, progress: Progress): void {
  const text = inPage.textContent.trim();
  if (text !== "") void readPieces(text.split("\n"), progress);
  else listen(progress);
}

async function readPieces(lines: readonly string[], progress: Progress): Promise<void> {
  for (let at = 0; at < lines.length; at += PIECE) {
    progress.lines(lines.slice(at, at + PIECE));
    await new Promise((resolve) => setTimeout(resolve));
  }
  progress.done(false);
}

/** Events: records as lines; `ready` when all that is there was sent and more may come; `end` when none will. */
function listen({ lines, done, failed }: Progress): void {
  const events = new EventSource("events");
  events.addEventListener("message", ({ data }) => lines(String(data).split("\n")));
  events.addEventListener("ready", () => done(true));
  events.addEventListener("end", () => {
    events.close();
    done(false);
  });
  events.addEventListener("fault", (event) => {
    events.close();
    failed(String((event as MessageEvent).data));
  });
  events.addEventListener("error", () => {
    // Left open it would connect again, and get everything once more.
    events.close();
    failed("acp-shift trace view has ended, or cannot be reached");
  });
}
