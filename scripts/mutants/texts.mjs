// Tells Stryker to leave alone what only a person reads in the log: the arguments of `log` and the `detail` of a note.
import { declareValuePlugin, PluginKind } from "@stryker-mutator/api/plugin";

export const strykerPlugins = [
  declareValuePlugin(PluginKind.Ignore, "texts", {
    shouldIgnore({ node, parent }) {
      const logged =
        parent?.type === "CallExpression" && parent.callee.name === "log" && parent.arguments.includes(node);
      const noted = parent?.type === "ObjectProperty" && parent.key.name === "detail" && parent.value === node;
      return logged || noted ? "a text of the log" : undefined;
    },
  }),
];
