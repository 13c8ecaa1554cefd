// What the tests of the translations and the core use of vitest, on mocha: Stryker keeps mocha's process, and with it all that
// the tests have loaded, from one mutant to the next.
import { ASYMMETRIC_MATCHERS_OBJECT, chai, JestAsymmetricMatchers, JestChaiExpect, JestExtend } from "@vitest/expect";

for (const plugin of [JestExtend, JestChaiExpect, JestAsymmetricMatchers]) chai.use(plugin);

export const expect = Object.assign((value, message) => chai.expect(value, message), chai.expect);
Object.assign(expect, globalThis[ASYMMETRIC_MATCHERS_OBJECT]);

const cleanUps = [];
let count = 0;

/** Stryker knows a test by its title, so each has a number. */
function declare(title, run) {
  count += 1;
  globalThis.it(`${title} #${count}`, async () => {
    try {
      await run({});
    } finally {
      for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
    }
  });
}

function each(declareOne) {
  return (rows) => (title, run) => {
    for (const row of rows) {
      const values = Array.isArray(row) ? row : [row];
      declareOne(title, () => run(...values));
    }
  };
}

export const test = Object.assign((title, run) => declare(title, run), { each: each(declare) });
export const it = test;
export const describe = Object.assign((title, run) => globalThis.describe(title, () => void run()), {
  each: each((title, run) => globalThis.describe(title, () => void run())),
});
export const beforeEach = (run) => globalThis.beforeEach(() => run());
export const afterEach = (run) => globalThis.afterEach(() => run());
export function onTestFinished(cleanUp) {
  cleanUps.push(cleanUp);
}
