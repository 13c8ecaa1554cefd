import { LEGS } from "../../trace/format.ts";
import { firstFrom, type Span, type TimeScale } from "../time-scale.ts";
import type { Turn } from "../turns.ts";
import { seconds } from "./dom.ts";

/** What a time line shows. */
export interface TimeLinePicture {
  scale: TimeScale;
  /** What of the scale is to be seen. */
  view: Span;
  turns: readonly Turn[];
  /** The sessions that have a lane, in order. */
  lanes: readonly (string | undefined)[];
  /** The times of all records, and of those on each leg, in ms. */
  times: readonly number[];
  tracks: readonly (readonly number[])[];
}

/** The rows of the time line, in pixels. */
const AXIS = 16;
const LANE = 20;
const TRACK = 5;
/** Silence within a turn is marked from this length on, in ms, and this width, in pixels. */
const SILENCE = 1_000;
const LEAST_SILENCE = 3;

/** The height of a time line with so many lanes, in pixels. */
export function timeLineHeight(lanes: number): number {
  return AXIS + Math.max(1, lanes) * LANE + LEGS.length * TRACK + 8;
}

/** When a turn was; one that has not ended lasts as long as the records do. */
export function spanOfTurn({ from, to }: Turn, times: readonly number[]): Span {
  return { from: from.record.mono, to: to?.record.mono ?? times.at(-1) ?? 0 };
}

/** Draws a time line, whatever was there before. */
export function paintTimeLine(canvas: HTMLCanvasElement, picture: TimeLinePicture): void {
  const { scale, view, turns, lanes, times, tracks } = picture;
  const context = canvas.getContext("2d");
  const { clientWidth: width, clientHeight: height } = canvas;
  if (context === null || width === 0) return;
  canvas.width = Math.round(width * devicePixelRatio);
  canvas.height = Math.round(height * devicePixelRatio);
  context.scale(devicePixelRatio, devicePixelRatio);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  const colours = new Map<string, string>();
  const xOf = (time: number) => ((scale.place(time) - view.from) / (view.to - view.from)) * width;
  const timeAt = (x: number) => scale.time(view.from + (x / width) * (view.to - view.from));

  paintFolds(context);
  paintAxis(context);
  paintTurns(context);
  paintTracks(context);

  /** A colour of the style sheet, as it is in the present scheme. */
  function colour(name: string): string {
    let value = colours.get(name);
    if (value === undefined) {
      canvas.style.color = `var(--${name})`;
      value = getComputedStyle(canvas).color;
      colours.set(name, value);
    }
    return value;
  }

  function paintFolds(context: CanvasRenderingContext2D): void {
    context.textAlign = "center";
    for (const { from, to } of scale.folds) {
      const [left, right] = [xOf(from), xOf(to)];
      if (right < 0 || left > width) continue;
      context.fillStyle = colour("fold");
      context.fillRect(left, 0, right - left, height);
      const text = `⋯ ${seconds(to - from)}`;
      context.fillStyle = colour("dim");
      if (right - left > 30 && context.measureText(text).width < right - left)
        context.fillText(text, (left + right) / 2, AXIS + LANE / 2);
    }
    context.textAlign = "left";
  }

  function paintAxis(context: CanvasRenderingContext2D): void {
    const [from, to] = [scale.time(view.from), scale.time(view.to)];
    const step = niceStep((view.to - view.from) / Math.max(1, width / 110));
    const places = Math.max(0, Math.ceil(-Math.log10(step / 1000)));
    context.fillStyle = colour("dim");
    context.strokeStyle = colour("line");
    let free = Number.NEGATIVE_INFINITY;
    for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
      const x = Math.round(xOf(time)) + 0.5;
      if (x < free || scale.folds.some((fold) => fold.from <= time && time <= fold.to)) continue;
      const text = `${(time / 1000).toFixed(places)} s`;
      context.fillText(text, x + 3, AXIS / 2);
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, height);
      context.stroke();
      free = x + context.measureText(text).width + 14;
    }
  }

  function paintTurns(context: CanvasRenderingContext2D): void {
    /** By lane: how far it is painted. Turns too narrow to be seen apart are painted once. */
    const painted = lanes.map(() => -1);
    for (const [index, turn] of turns.entries()) {
      const lane = lanes.indexOf(turn.session);
      const { from, to } = spanOfTurn(turn, times);
      const [left, right] = [xOf(from), xOf(to)];
      if (lane < 0 || right < 0 || left > width || right < (painted[lane] ?? 0) + 1) continue;
      painted[lane] = right;
      paintTurn(context, turn, index, AXIS + lane * LANE + 2);
    }
  }

  function paintTurn(context: CanvasRenderingContext2D, turn: Turn, index: number, top: number): void {
    const { from, to } = spanOfTurn(turn, times);
    const [left, right] = [xOf(from), xOf(to)];
    const barHeight = LANE - 5;
    const bar = (a: number, b: number, name: string) => {
      context.fillStyle = colour(name);
      context.fillRect(a, top, Math.max(1.5, b - a), barHeight);
    };
    bar(left, right, turn.stopReason === "error" ? "turn-error" : turn.to === undefined ? "turn-open" : "turn");
    if (right - left < 2) return;
    bar(left, xOf(turn.first?.record.mono ?? to), "turn-first");
    for (const wait of turn.waits) bar(xOf(wait.from), xOf(wait.to ?? to), "turn-wait");
    let free = right;
    for (const gap of silences({ from, to })) {
      const [a, b] = [xOf(gap.from), xOf(gap.to)];
      if (b - a < LEAST_SILENCE) continue;
      free = Math.min(free, a);
      context.fillStyle = colour("silence");
      context.fillRect(a, top + barHeight - 3, b - a, 3);
      label(context, seconds(gap.to - gap.from), a, b, top + barHeight / 2 - 1, "center");
    }
    label(context, String(index + 1), left, free, top + barHeight / 2, "left");
  }

  /** Text between two places, if it fits. */
  function label(
    context: CanvasRenderingContext2D,
    text: string,
    a: number,
    b: number,
    y: number,
    align: "left" | "center",
  ): void {
    if (b - a < 10 || context.measureText(text).width + 6 > b - a) return;
    context.fillStyle = colour("on-turn");
    context.textAlign = align;
    context.fillText(text, align === "left" ? Math.max(a, 0) + 4 : (a + b) / 2, y);
    context.textAlign = "left";
  }

  /** Where nobody said anything for long while the turn ran, as far as it can be seen. */
  function silences({ from, to }: Span): Span[] {
    const found: Span[] = [];
    const least = Math.max(SILENCE, (LEAST_SILENCE / width) * (view.to - view.from));
    if (to - from < least) return found;
    for (let at = firstFrom(times, (time) => time > from); at < times.length && (times[at - 1] ?? to) < to; at++) {
      const [one, next] = [Math.max(from, times[at - 1] ?? from), times[at] ?? to];
      if (next - one >= SILENCE) found.push({ from: one, to: next });
    }
    return found;
  }

  function paintTracks(context: CanvasRenderingContext2D): void {
    const top = height - LEGS.length * TRACK - 3;
    for (const [track, all] of tracks.entries()) {
      context.fillStyle = colour(track < 2 ? "request" : "agent");
      const start = timeAt(0);
      for (let at = firstFrom(all, (time) => time >= start); at < all.length; ) {
        const x = Math.floor(xOf(all[at] ?? 0));
        if (x > width) break;
        context.fillRect(x, top + track * TRACK, 1, TRACK - 1);
        // What falls onto the same pixel need not be looked at.
        const next = timeAt(x + 1);
        at++;
        if ((all[at] ?? next) < next) at = firstFrom(all, (time) => time >= next);
      }
    }
  }
}

/** A step of 1, 2 or 5 times a power of ten that is at least so long, in ms. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 0.001)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least) ?? least;
}
