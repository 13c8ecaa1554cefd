/** What is done as this process exits: one listener for all of it, for a service has many agents. */
const acts = new Set<() => void>();

function actAll(): void {
  for (const act of acts) act();
}

/**
 * Has something done as this process exits, for whatever reason but a signal nobody handles; it must not wait.
 *
 * @returns a function that takes it back
 */
export function atExit(act: () => void): () => void {
  if (acts.size === 0) process.on("exit", actAll);
  acts.add(act);
  return () => {
    acts.delete(act);
    if (acts.size === 0) process.off("exit", actAll);
  };
}
