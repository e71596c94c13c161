// A panel as the chart library wants it.

import { type Level, type Plot, type Points, inWords } from "./data";
import type { ChartOption } from "./library";

/** Room around the panel within its picture, pixels. */
export const MARGIN = { left: 58, right: 16, top: 12, bottom: 28 };
/** Height of a lane of strokes above the panel, pixels. */
const LANE = 9;
/** Height of the line of phase names above the panel, pixels. */
const PHASE_NAMES = 14;
/** Width of a letter of such a name, pixels; none is wider on the whole. */
const LETTER = 6.5;
/** Places of named colors in the page's list; crates/view/src/report/palette.rs has them in this order. */
const COLOUR = { background: 0, ink: 1, muted: 2, axis: 3, grid: 4 };
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
const DASHES = ["solid", [5, 3], [1.5, 2.5]] as const;

/** The smallest of 1, 2, 5 times a power of ten that is at least this. */
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((digit) => digit * power >= least * (1 - 1e-9)) ?? 10) * power;
}

/** 1, 2 and 5 times powers of ten between these. */
function logarithmicTicks(from: number, to: number): number[] {
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.log10(to); power += 1) {
    for (const digit of [1, 2, 5]) {
      const tick = digit * 10 ** power;
      if (tick >= from * (1 - 1e-9) && tick <= to * (1 + 1e-9)) ticks.push(tick);
    }
  }
  return ticks;
}

function short(value: number): string {
  return String(Math.round(value * 1e6) / 1e6);
}

/** The horizontal axis over this stretch in so many pixels. */
export function timeAxis(from: number, to: number, width: number, ink: (index: number) => string): object {
  const step = niceStep((to - from) / Math.max(width / 80, 2));
  // Places of its own, or the library would count from the left end, wherever a zoom has put that.
  const ticks: number[] = [];
  for (let place = Math.ceil(from / step - 1e-9); place * step <= to * (1 + 1e-9); place += 1) ticks.push(place * step);
  return {
    type: "value",
    min: from,
    max: to,
    axisLine: { onZero: false, lineStyle: { color: ink(COLOUR.axis) } },
    axisTick: { show: false, customValues: ticks },
    splitLine: { show: true, lineStyle: { color: ink(COLOUR.grid) } },
    axisLabel: {
      color: ink(COLOUR.muted),
      fontSize: 11.5,
      fontFamily: FONT,
      hideOverlap: true,
      customValues: ticks,
      formatter: (value: number) => `${short(value)} s`,
    },
  };
}

function valueAxis(plot: Plot, level: Level, colour: (index: number) => string): object {
  const [min, max, step] = level.y;
  const rows = plot.rows.length;
  const label = { color: colour(COLOUR.muted), fontSize: 11.5, fontFamily: FONT, showMinLabel: true, showMaxLabel: true };
  const common = {
    min,
    max,
    axisLine: { show: false },
    axisTick: { show: false },
    splitLine: { show: true, lineStyle: { color: colour(COLOUR.grid) } },
  };
  if (rows > 0) {
    const middles = plot.rows.map((_, row) => row + 0.5);
    const formatter = (value: number) => plot.rows[rows - 1 - Math.floor(value)] ?? "";
    return { ...common, type: "value", interval: step, axisLabel: { ...label, customValues: middles, formatter } };
  }
  if (plot.log) {
    const ticks = logarithmicTicks(min, max);
    return { ...common, type: "log", axisLabel: { ...label, customValues: ticks, formatter: short }, axisTick: { show: false, customValues: ticks } };
  }
  return { ...common, type: "value", interval: step, axisLabel: { ...label, formatter: short } };
}

function data(points: Points): [number, number | null][] {
  return points.values.map((value, place) => [points.grid.at(points.start + place), value]);
}

/** Height of the picture: the panel, and the room around it. */
export function pictureHeight(plot: Plot): number {
  return plot.height + MARGIN.top + MARGIN.bottom + (plot.phases.length > 0 ? PHASE_NAMES : 0);
}

/** The stretches behind the lines, and above them the names that have room. */
function phases(plot: Plot, shown: Shown, colour: (index: number) => string): object {
  const within = (at: number) => Math.min(Math.max(at, shown.from), shown.to);
  const pixels = (shown.width - MARGIN.left - MARGIN.right) / (shown.to - shown.from);
  const distance = LANE * plot.strokes.length + 2;
  const label = { position: "top", distance, color: colour(COLOUR.muted), fontSize: 11, fontFamily: FONT };
  const areas = plot.phases
    .map(([name, from, to, shade]) => [name, within(from), within(to), shade] as const)
    .filter(([, from, to]) => from < to)
    .map(([name, from, to, shade]) => {
      const itemStyle = shade === null ? { opacity: 0 } : { color: colour(shade) };
      const show = (to - from) * pixels >= name.length * LETTER;
      return [{ name, xAxis: from, itemStyle, label: { ...label, show } }, { xAxis: to }];
    });
  // Behind the lines of the axes, whose `z` is 0.
  return { z: -1, silent: true, animation: false, data: areas };
}

/** The stretch of time that a picture shows, and its width in pixels. */
interface Shown {
  from: number;
  to: number;
  width: number;
}

/** The whole option. Lines whose number is in `hidden` are left out. */
export function option(
  plot: Plot,
  level: Level,
  shown: Shown,
  colour: (index: number) => string,
  hidden: ReadonlySet<number>,
): ChartOption {
  const still = { animation: false, silent: true, emphasis: { disabled: true } };
  const series: object[] = [];
  if (plot.phases.length > 0) {
    series.push({ ...still, type: "line", data: [], markArea: phases(plot, shown, colour) });
  }
  plot.bands.forEach((band, index) => {
    const ends = level.bands[index];
    if (ends === undefined || (plot.stacked && hidden.has(index))) return;
    const [lower, upper] = ends;
    const low = data(lower);
    const rise = upper.values.map((value, place) => {
      const from = lower.values[place] ?? null;
      return [upper.grid.at(upper.start + place), value === null || from === null ? null : value - from];
    });
    for (const [points, opacity] of [[low, 0], [rise, band.o]] as const) {
      series.push({
        ...still,
        type: "line",
        data: points,
        symbol: "none",
        stack: `band ${index}`,
        stackStrategy: "all",
        z: 1,
        lineStyle: { opacity: 0 },
        areaStyle: { color: colour(band.c), opacity },
      });
    }
  });
  for (const [value, words] of plot.rules) {
    const text = { show: true, formatter: words, position: "insideEndTop", color: colour(COLOUR.muted), fontSize: 11 };
    series.push({
      ...still,
      type: "line",
      data: [[shown.from, value], [shown.to, value]],
      symbol: "none",
      z: 2,
      lineStyle: { color: colour(COLOUR.axis), width: 1, type: [4, 3] },
      endLabel: { ...text, align: "right", offset: [-6, -8] },
    });
  }
  plot.lines.forEach((line, index) => {
    const points = level.lines[index];
    if (points === undefined || hidden.has(index)) return;
    series.push({
      ...still,
      type: "line",
      name: line.n,
      data: data(points),
      symbol: "none",
      z: 3 + index,
      lineStyle: { color: colour(line.c), width: line.w, type: DASHES[line.d], join: "round" },
    });
  });
  plot.strokes.forEach(([number, at], lane) => {
    series.push({
      ...still,
      type: "scatter",
      data: at.filter((seconds) => seconds >= shown.from && seconds <= shown.to).map((seconds) => [seconds, level.y[1]]),
      clip: false,
      symbol: "rect",
      symbolSize: [1.2, 7],
      symbolOffset: [0, -6 - LANE * (plot.strokes.length - 1 - lane)],
      itemStyle: { color: colour(number) },
    });
  });
  const top = MARGIN.top + LANE * plot.strokes.length + (plot.phases.length > 0 ? PHASE_NAMES : 0);
  return {
    animation: false,
    textStyle: { fontFamily: FONT },
    grid: { ...MARGIN, top, containLabel: false, outerBoundsMode: "none" },
    xAxis: timeAxis(shown.from, shown.to, shown.width - MARGIN.left - MARGIN.right, colour),
    yAxis: valueAxis(plot, level, colour),
    series,
  };
}

/** What a plot says of a moment: a name and a value for each line that is shown. */
export function reading(plot: Plot, values: (number | null)[], hidden: ReadonlySet<number>): [number, string, string][] {
  return plot.lines.flatMap((line, index): [number, string, string][] =>
    hidden.has(index) ? [] : [[line.c, line.n || plot.title, inWords(values[index] ?? null, plot.unit)]],
  );
}
