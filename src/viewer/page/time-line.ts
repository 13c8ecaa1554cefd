import { LEGS } from "../../trace/format.ts";
import { createTimeScale, firstFrom, type Span, type TimeScale } from "../time-scale.ts";
import { legOf } from "../trace.ts";
import type { Turn } from "../turns.ts";
import { element, onNextFrame, seconds, timeText } from "./dom.ts";
import type { Page } from "./page.ts";
import { paintTimeLine, spanOfTurn, timeLineHeight } from "./time-line-picture.ts";

const MOST_LANES = 4;

/** What belongs to the time line but stands elsewhere. */
export interface TimeLineExtras {
  /** Says what is under the pointer, or selected. */
  readout: HTMLElement;
  buttons: HTMLElement;
}

export interface TimeLine {
  /** Selects the first record of the turn after, or before, the selected record. */
  step(by: 1 | -1): void;
}

/**
 * The time line: a lane of turns for each session, with what they waited for; a track of frames for each leg; silence
 * within turns marked, long quiet between them folded. It is zoomed and moved by wheel, by dragging, and by keys.
 */
export function createTimeLine(page: Page, box: HTMLElement, { readout, buttons }: TimeLineExtras): TimeLine {
  const { trace, turns } = page.model;
  const canvas = element("canvas", {
    tabindex: 0,
    role: "img",
    "aria-label": "Time line of turns; arrow keys move it, + and - zoom, 0 shows all",
  });
  const scaleButton = element(
    "button",
    { type: "button", "aria-pressed": "false", title: "Draw quiet time between turns at its full length" },
    "True scale",
  );
  const fitButton = element("button", { type: "button", title: "Show all (0)" }, "Fit");
  const mark = element("div", { class: "mark", hidden: true });
  box.append(canvas, mark);
  buttons.append(scaleButton, fitButton);
  let fold = true;
  let scale: TimeScale = createTimeScale([], [], false);
  /** What of the scale is to be seen. */
  let view: Span = { from: 0, to: scale.length };
  let isAll = true;
  const tracks: number[][] = LEGS.map(() => []);
  const times: number[] = [];
  let lanes: (string | undefined)[] = [];
  let read = 0;
  const draw = onNextFrame(paint);

  function takeIn(): void {
    for (; read < trace.entries.length; read++) {
      const entry = trace.entries[read];
      if (entry === undefined) continue;
      times.push(entry.record.mono);
      const leg = legOf(entry);
      if (leg !== undefined) tracks[LEGS.indexOf(leg)]?.push(entry.record.mono);
    }
    lanes = [...new Set(turns.turns.map(({ session }) => session))].slice(0, MOST_LANES);
    rescale();
  }

  function rescale(): void {
    scale = createTimeScale(times, turns.turns.map(spanOf), fold);
    if (isAll) view = { from: 0, to: scale.length };
    canvas.style.height = `${timeLineHeight(lanes.length)}px`;
    draw();
  }

  const spanOf = (turn: Turn): Span => spanOfTurn(turn, times);

  const xOf = (time: number) => ((scale.place(time) - view.from) / (view.to - view.from)) * canvas.clientWidth;
  const timeAt = (x: number) => scale.time(view.from + (x / canvas.clientWidth) * (view.to - view.from));

  function paint(): void {
    paintTimeLine(canvas, { scale, view, turns: turns.turns, lanes, times, tracks });
    showMark();
  }

  /** Where the selected record is. */
  function showMark(): void {
    const x = page.selected === undefined ? -1 : xOf(page.selected.record.mono);
    mark.hidden = x < 0 || x > canvas.clientWidth;
    mark.style.transform = `translateX(${Math.round(x)}px)`;
  }

  function zoom(factor: number, x = canvas.clientWidth / 2): void {
    const share = x / canvas.clientWidth;
    const at = view.from + share * (view.to - view.from);
    const length = Math.min(scale.length, Math.max(0.5, (view.to - view.from) * factor));
    move(at - share * length, length);
  }

  function move(from: number, length = view.to - view.from): void {
    const start = Math.max(0, Math.min(scale.length - length, from));
    view = { from: start, to: start + length };
    isAll = length >= scale.length;
    draw();
  }

  function turnAt(time: number): Turn | undefined {
    return turns.turns.findLast((turn) => spanOf(turn).from <= time && time <= spanOf(turn).to);
  }

  function tell(time: number): void {
    const turn = turnAt(time);
    readout.textContent = `${timeText(time)} s${turn === undefined ? "" : ` · ${turnText(turn)}`}`;
  }

  function turnText(turn: Turn): string {
    const { from, to } = spanOf(turn);
    const first = turn.first && `first sign ${seconds(turn.first.record.mono - from)}`;
    const waited = turn.waits.reduce((sum, wait) => sum + (wait.to ?? to) - wait.from, 0);
    return [
      `turn ${turns.turns.indexOf(turn) + 1}/${turns.turns.length} · ${seconds(to - from)}`,
      first,
      waited > 0 && `waited for you ${seconds(waited)}`,
      turn.to === undefined ? "not ended" : (turn.stopReason ?? "ended"),
    ]
      .filter(Boolean)
      .join(" · ");
  }

  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const sideways = event.shiftKey ? event.deltaY : event.deltaX;
    if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY))
      move(view.from + (sideways / canvas.clientWidth) * (view.to - view.from));
    else zoom(event.deltaY > 0 ? 1.25 : 0.8, event.offsetX);
  });
  let dragged: { x: number; from: number; moved: boolean } | undefined;
  canvas.addEventListener("pointerdown", (event) => {
    dragged = { x: event.offsetX, from: view.from, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    tell(timeAt(event.offsetX));
    if (dragged === undefined) return;
    const by = event.offsetX - dragged.x;
    if (Math.abs(by) > 3) dragged.moved = true;
    if (dragged.moved) move(dragged.from - (by / canvas.clientWidth) * (view.to - view.from));
  });
  canvas.addEventListener("pointerup", (event) => {
    if (dragged?.moved === false) {
      const time = timeAt(event.offsetX);
      page.select(
        trace.entries[
          Math.min(
            times.length - 1,
            firstFrom(times, (one) => one >= time),
          )
        ],
      );
    }
    dragged = undefined;
  });
  canvas.addEventListener("dblclick", () => move(0, scale.length));
  canvas.addEventListener("keydown", (event) => {
    const part = (view.to - view.from) / 8;
    const acts: Record<string, () => void> = {
      ArrowLeft: () => move(view.from - part),
      ArrowRight: () => move(view.from + part),
      "+": () => zoom(0.7),
      "=": () => zoom(0.7),
      "-": () => zoom(1.4),
      "0": () => move(0, scale.length),
    };
    const act = acts[event.key];
    if (act === undefined || event.ctrlKey || event.metaKey) return;
    act();
    event.preventDefault();
    event.stopPropagation();
  });
  fitButton.addEventListener("click", () => move(0, scale.length));
  scaleButton.addEventListener("click", () => {
    fold = !fold;
    isAll = true;
    scaleButton.setAttribute("aria-pressed", String(!fold));
    rescale();
  });
  new ResizeObserver(draw).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["style"] });
  page.onChange((change) => {
    if (change === "records") takeIn();
    if (page.selected !== undefined && change === "selection") {
      tell(page.selected.record.mono);
      const place = scale.place(page.selected.record.mono);
      if (place < view.from || place > view.to) move(place - (view.to - view.from) / 2);
    }
    if (change === "selection") showMark();
  });

  return {
    step(by) {
      const now = page.selected?.record.mono ?? Number.NEGATIVE_INFINITY;
      const starts = turns.turns.map(({ from }) => from);
      const next =
        by > 0 ? starts.find(({ record }) => record.mono > now) : starts.findLast(({ record }) => record.mono < now);
      if (next !== undefined) page.select(next);
    },
  };
}
