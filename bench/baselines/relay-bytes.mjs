// The limit of any Node process in the middle: bytes piped both ways, nothing looked at.
import { startAgent } from "./start-agent.mjs";

const agent = startAgent();
process.stdin.pipe(agent.stdin);
agent.stdout.pipe(process.stdout);
