// Fuzzing in this process, guided by coverage: a spoilt conversation that reaches code no other has reached is spoilt further.
import { Session } from "node:inspector/promises";
import { type Conversation, corpus } from "./corpus.ts";
import { judge, type Verdict } from "./judge.ts";
import { mutated } from "./mutate.ts";
import { createRandom } from "./random.ts";

export interface Fuzzed extends Verdict {
  conversations: number;
  /** Blocks of the core, the translations and the decoder that were reached, and how many of them not by the corpus itself. */
  blocks: number;
  newBlocks: number;
  /** Inputs that were kept because they reached new blocks. */
  kept: number;
  slowestMs: number;
}

/** How many conversations are put through between two looks at the coverage: each look costs as much as some of them. */
const BATCH = 10;

/**
 * Puts mutated conversations through the core until the time is over or there were enough.
 *
 * @param until by `performance.now()`
 * @throws Error with the seed and the conversation, when one of them shows a fault
 */
export async function fuzz(
  seed: number,
  names: RegExp,
  until: number,
  most = Number.POSITIVE_INFINITY,
): Promise<Fuzzed> {
  const random = createRandom(seed);
  const pool = corpus(names);
  const coverage = await watchCoverage();
  const total: Fuzzed = {
    ...{ conversations: 0, events: 0, frames: 0, records: 0, errors: 0 },
    ...{ blocks: 0, newBlocks: 0, kept: 0, slowestMs: 0 },
  };
  for (const original of pool) judgeNamed(original, seed);
  const before = await coverage.look();
  do {
    const batch = Array.from({ length: Math.min(BATCH, most - total.conversations) }, (): Conversation => {
      const original = random.pick(pool);
      return { ...original, moments: mutated(original.moments, random) };
    });
    for (const conversation of batch) {
      const started = performance.now();
      const verdict = judgeNamed(conversation, seed);
      total.slowestMs = Math.max(total.slowestMs, Math.round(performance.now() - started));
      total.conversations++;
      for (const key of ["events", "frames", "records", "errors"] as const) total[key] += verdict[key];
    }
    if ((await coverage.look()) === 0) continue;
    // Which of them it was is not known; each is as good as a recorded one from now on.
    total.kept += batch.length;
    pool.push(...batch.filter(({ moments }) => moments.length > 0));
  } while (total.conversations < most && performance.now() < until);
  total.blocks = coverage.blocks();
  total.newBlocks = total.blocks - before;
  await coverage.end();
  return total;
}

function judgeNamed(conversation: Conversation, seed: number): Verdict {
  try {
    return judge(conversation);
  } catch (error) {
    const smallest = shrunk(conversation);
    const lines = smallest.moments.map(({ from, at, bytes, cuts, ends }) => {
      const how = [ends ? [] : "no line break", cuts.length > 0 ? `cut at ${cuts}` : []].flat().join(", ");
      return `  ${from} at ${at}: ${bytes.toString().slice(0, 5000)} ${how}`;
    });
    const title = `${conversation.name}, ${conversation.pairing}, seed ${seed}, without what is not needed:`;
    throw new Error([faultOf(smallest) ?? String(error), title, ...lines].join("\n"), { cause: error });
  }
}

/** The fault, without what differs from one conversation to the next. */
function faultOf(conversation: Conversation): string | undefined {
  try {
    judge(conversation);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** As few moments as still show a fault of the same kind. */
function shrunk(conversation: Conversation): Conversation {
  const kind = kindOf(faultOf(conversation));
  let smallest = conversation;
  for (let size = Math.ceil(smallest.moments.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < smallest.moments.length; ) {
      const moments = smallest.moments.toSpliced(from, size);
      const smaller = { ...smallest, moments };
      if (kindOf(faultOf(smaller)) === kind) smallest = smaller;
      else from += size;
    }
  }
  return smallest;
}

function kindOf(fault: string | undefined): string | undefined {
  return fault?.slice(0, 3) === "I3:" ? fault.slice(0, 60) : fault?.replace(/[^:\n]*-[^ ]*/, "").slice(0, 12);
}

const WATCHED = /\/src\/(bridge|translate|protocol|transport)\//;

/** What V8 counts, of the code under test. `look` says how many blocks were reached for the first time since the last look. */
async function watchCoverage(): Promise<{ look(): Promise<number>; blocks(): number; end(): Promise<void> }> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: false, detailed: true });
  const reached = new Set<string>();
  return {
    async look() {
      const known = reached.size;
      const { result } = await session.post("Profiler.takePreciseCoverage");
      for (const { url, scriptId, functions } of result) {
        if (!WATCHED.test(url)) continue;
        for (const { ranges } of functions)
          for (const { count, startOffset, endOffset } of ranges)
            if (count > 0) reached.add(`${scriptId} ${startOffset} ${endOffset}`);
      }
      return reached.size - known;
    },
    blocks: () => reached.size,
    async end() {
      await session.post("Profiler.stopPreciseCoverage");
      session.disconnect();
    },
  };
}
