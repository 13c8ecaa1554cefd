// Loaded with --import: every look at the wall clock finds it somewhere else, by up to ten years.
const RealDate = Date;
const YEAR = 365 * 24 * 3600 * 1000;
let looks = 0;
const now = () => RealDate.now() + (looks++ % 2 === 0 ? 1 : -1) * (looks % 11) * YEAR;

globalThis.Date = class JumpingDate extends RealDate {
  constructor(...given) {
    super(...(given.length === 0 ? [now()] : given));
  }
  static now() {
    return now();
  }
};
