// What the page holds for its script: see crates/view/src/report/plot.rs, which writes it.

/** Where the points of lines stand. */
export interface Places {
  /** The place of a point. */
  at(index: number): number;
  /** The point that stands for a moment, or -1. */
  index(seconds: number): number;
  /** How many. */
  count: number;
}

export interface PlotLine {
  n: string;
  c: number;
  w: number;
  d: 0 | 1 | 2;
  g: number;
  s: number;
  y: (number | null)[];
}

export interface Band {
  c: number;
  o: number;
  g: number;
  s: number;
  lo: (number | null)[];
  hi: (number | null)[];
}

export interface Plot {
  title: string;
  unit: string;
  y: [number, number, number];
  log: boolean;
  height: number;
  rows: string[];
  quiet: [number, number][];
  grids: GridData[];
  lines: PlotLine[];
  bands: Band[];
  rules: [number, string][];
  strokes: [number, number[]][];
}

/** A grid as it is written: first, step and number of an even one, or each place. */
export type GridData = { even: [number, number, number] } | { each: number[] };

export interface Data {
  colours: [string, string][];
  time: [number, number];
  plots: Plot[];
  drawings: unknown[];
}

/** The data of this page. */
export function read(): Data {
  return JSON.parse(document.getElementById("data")?.textContent ?? "{}") as Data;
}

/** A grid as something that can be asked. */
export function places(grid: GridData): Places {
  if ("even" in grid) {
    const [first, step, count] = grid.even;
    const index = (seconds: number) => {
      const nearest = Math.round((seconds - first) / step);
      return nearest >= 0 && nearest < count ? nearest : -1;
    };
    return { at: (place) => first + step * place, index, count };
  }
  const each = grid.each;
  // Of levels between edges the last one at or before a moment holds.
  const index = (seconds: number) => {
    let [low, high] = [0, each.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((each[middle] ?? Infinity) <= seconds) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  };
  return { at: (place) => each[place] ?? NaN, index, count: each.length };
}

/** The value of a line at a moment; null where it has none. */
export function valueAt(line: PlotLine, grid: Places, seconds: number): number | null {
  const index = grid.index(seconds);
  return index < line.s ? null : (line.y[index - line.s] ?? null);
}

/** A value with three significant figures, and its unit. */
export function inWords(value: number | null, unit: string): string {
  if (value === null) return "–";
  const size = Math.abs(value);
  const digits = size === 0 || Number.isInteger(value) ? 0 : size < 1 ? 3 : size < 10 ? 2 : size < 100 ? 1 : 0;
  return unit === "" ? value.toFixed(digits) : `${value.toFixed(digits)}\u00a0${unit}`;
}
