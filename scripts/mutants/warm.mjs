// Keeps the one process quick.
import Mocha from "mocha";

// Stryker names the tests to run in one regular expression, against which mocha holds every title several times for each mutant.
Mocha.prototype.grep = function (names) {
  const wanted = new Set(names.source.match(/#\d+(?=\$)/g));
  this.options.grep = { test: (title) => wanted.has(title.slice(title.lastIndexOf("#"))) };
  return this;
};

// What tests cover is not also named as covered while they were loaded, since for that Stryker starts a new process for each such
// mutant. What is covered only while loading stays so.
globalThis.after(() => {
  const { mutantCoverage } = globalThis.__stryker__ ?? {};
  if (mutantCoverage === undefined) return;
  for (const covered of Object.values(mutantCoverage.perTest))
    for (const mutant of Object.keys(covered)) delete mutantCoverage.static[mutant];
});
