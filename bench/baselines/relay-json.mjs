// The limit of a proxy that parses: every line through JSON.parse and JSON.stringify, no protocol, writes batched.
import { startAgent } from "./start-agent.mjs";

const LINE_FEED = 0x0a;

function relay(from, to) {
  let held = [];
  from.on("data", (chunk) => {
    const end = chunk.lastIndexOf(LINE_FEED) + 1;
    if (end === 0) {
      held.push(chunk);
      return;
    }
    const lines = Buffer.concat([...held, chunk.subarray(0, end)]).toString();
    held = end < chunk.length ? [chunk.subarray(end)] : [];
    let batch = "";
    for (const line of lines.split("\n")) if (line !== "") batch += `${JSON.stringify(JSON.parse(line))}\n`;
    if (to.write(batch)) return;
    from.pause();
    to.once("drain", () => from.resume());
  });
  from.on("end", () => to.end());
}

const agent = startAgent();
relay(process.stdin, agent.stdin);
relay(agent.stdout, process.stdout);
