// The differences that are left between an agent's own version 2 and its version 1 through acp-shift, each with its
// reason. One that no longer appears has to go.

export interface Explanation {
  /** Whose doing it is, and why the bridge cannot or should not do otherwise. */
  why: string;
  /** What stands in the native transcript, as a global expression over whole lines. */
  native: RegExp;
  /** What stands in its place when the agent speaks version 1 through acp-shift. */
  bridged: string;
}

/** A native transcript as the explanations make it, and those that explained nothing. */
export function explain(transcript: string, explanations: readonly Explanation[]) {
  const stale: string[] = [];
  let explained = transcript;
  for (const { why, native, bridged } of explanations) {
    const replaced = explained.replaceAll(native, bridged);
    if (replaced === explained) stale.push(why);
    explained = replaced;
  }
  return { explained, stale };
}

const ASKS_LAST: Explanation = {
  why: "Both agents say requires_action before they ask. The protocol leaves the order open; its page asks first, and so does acp-shift.",
  native: /^state requires_action\n(permission .*\n(?: {2}.*\n)*)/gm,
  bridged: "$1state requires_action\n",
};

const RUNS_ON: Explanation = {
  why: "A permission answered with cancelled resumes nothing: acp-shift does not report running before the idle that ends the cancelled turn.",
  native: /^( {2}answered cancelled\nstate requires_action\n)state running\n/gm,
  bridged: "$1",
};

const DIFF_OF_WRITE = `\
  diff add /work/out.txt text
    diff --git /work/out.txt /work/out.txt
    new file mode 100644
    --- /dev/null
    +++ /work/out.txt
    @@ -0,0 +1 @@
    +hello written
`;

const DIFF_OF_EDIT = `\
  diff modify /work/hello.txt text
    diff --git /work/hello.txt /work/hello.txt
    --- /work/hello.txt
    +++ /work/hello.txt
    @@ -1 +1 @@
    -hello
    +goodbye
`;

/** By agent, in the order in which they are applied. */
export const EXPLAINED: Readonly<Record<string, readonly Explanation[]>> = {
  claude: [
    ASKS_LAST,
    RUNS_ON,
    {
      why: "Version 1 has no status for a cancelled tool call: there Claude says that it failed.",
      native: /^tool_call execute cancelled: /gm,
      bridged: "tool_call execute failed: ",
    },
    {
      why: "Claude's version 2 replays a written file without its content, its version 1 with the diff.",
      native: /^(tool_call edit completed: Write out\.txt\n {2}at \/work\/out\.txt\n)(?! {2}diff)/gm,
      bridged: `$1${DIFF_OF_WRITE}`,
    },
    {
      why: "Likewise an edited file; the diff is of what Claude was told to replace.",
      native: /^(tool_call edit completed: Edit hello\.txt\n {2}at \/work\/hello\.txt\n)(?! {2}diff)/gm,
      bridged: `$1${DIFF_OF_EDIT}`,
    },
  ],
  codex: [
    ASKS_LAST,
    RUNS_ON,
    {
      why: "An empty capability that Codex announces in version 2 only, for an extension it keeps there.",
      native: /^capability auth\n/gm,
      bridged: "",
    },
    {
      why: "Codex reports running before the user's message, Claude after it. The protocol leaves the order open; acp-shift does as its page.",
      native: /^state running\n(user_message: .*\n)/gm,
      bridged: "$1state running\n",
    },
    {
      why: "A permission request has no title and no description in version 1. acp-shift takes the tool call's title.",
      native: /^permission for tool_call (.*), asked as (?:Run command|Make edits)\?$/gm,
      bridged: "permission for tool_call $1, asked as $1",
    },
    {
      why: "Version 1 has old and new text, so acp-shift knows that the file is text; Codex does not say so.",
      native: /^( {2}diff \w+ \S+)$/gm,
      bridged: "$1 text",
    },
    {
      why: "In version 1 Codex reports a refusal by the model's API as text, and ends the turn as if all were well.",
      native: /^state idle error .*The stand-in refuses.*$/gm,
      bridged: "state idle end_turn",
    },
    {
      why: "Codex answers a resume of an unknown session with an internal error; acp-shift makes it the error the protocol has for it.",
      native: /^error -32603 of session\/resume$/gm,
      bridged: "error -32002 of session/resume",
    },
  ],
};
