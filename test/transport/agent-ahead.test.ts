// Guards the agent that is started before anybody can handle what it says: nothing of it is lost, in its order, also when
// it is gone by then.
import { expect, onTestFinished, test } from "vitest";
import { type AgentAhead, startAgentAhead } from "../../src/transport/agent-ahead.ts";
import { type AgentHandlers, startAgent } from "../../src/transport/agent-process.ts";
import { agentFile, gone, SHORT } from "./processes.ts";

function startAhead(command: string, ...args: string[]): AgentAhead {
  const options = { command, args, env: process.env, cwd: process.cwd(), ladder: SHORT };
  const ahead = startAgentAhead((handlers) => startAgent(options, handlers));
  onTestFinished(() => ahead.agent.killNow());
  return ahead;
}

/** Handlers that write down what they are told; `ended` resolves with all of it once the agent is gone. */
function listener() {
  const heard: string[] = [];
  let handlers: AgentHandlers | undefined;
  const ended = new Promise<string[]>((resolve) => {
    handlers = {
      onStdout: (chunk) => heard.push(`stdout ${chunk.toString("latin1")}`),
      onStdoutEnd: () => heard.push("stdout end"),
      onStderrLine: (line) => heard.push(`stderr ${line}`),
      onExit: ({ code, spawnError }) => {
        heard.push(`exit ${spawnError?.code ?? code}`);
        resolve(heard);
      },
    };
  });
  if (handlers === undefined) throw new Error("not made");
  return { handlers, heard, ended };
}

test("an agent that is gone by then is heard to its end", async () => {
  const { agent, handOver } = startAhead(process.execPath, agentFile("exits-with.mjs"), "3");
  if (agent.pid === undefined) throw new Error("not started");
  await gone(agent.pid);
  const { handlers, heard, ended } = listener();
  handOver(handlers);
  expect(heard, "nothing is told from within").toEqual([]);
  const all = await ended;
  expect(all.filter((what) => !what.startsWith("stderr"))).toEqual(["stdout last frame\n", "stdout end", "exit 3"]);
  expect(all).toContain("stderr last words");
});

test("a command that does not exist is reported, later as well as at once", async () => {
  for (const wait of [true, false]) {
    const { handOver } = startAhead("/no/such/command");
    if (wait) await new Promise(setImmediate);
    const { handlers, ended } = listener();
    handOver(handlers);
    expect(await ended).toEqual(["stdout end", "exit ENOENT"]);
  }
});

test("what comes before and after it is handed over keeps its order", async () => {
  const lines = 20_000;
  const { agent, handOver } = startAhead(process.execPath, agentFile("talks.mjs"), String(lines));
  const { handlers, ended } = listener();
  // So much that its pipe is full long before its end: some of it is here by then, some is not.
  agent.pauseStdout();
  await new Promise(setImmediate);
  agent.resumeStdout();
  handOver(handlers);
  const said = (await ended)
    .filter((what) => what.startsWith("stdout ") && what !== "stdout end")
    .map((what) => what.slice("stdout ".length));
  const numbers = said.join("").match(/^\d+(?= )/gm);
  expect(numbers).toEqual(Array.from({ length: lines }, (_, index) => String(index)));
});
