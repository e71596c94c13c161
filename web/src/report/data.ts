// The data of the page for its script: see crates/view/src/report/plot.rs, which writes it.

/** Where the points of lines stand. */
export interface Places {
  /** The place of a point. */
  at(index: number): number;
  /** The point that stands for a moment, or -1. */
  index(seconds: number): number;
  /** How many. */
  count: number;
}

/** How a line looks: name, color, width, dash. */
export interface LineLook {
  n: string;
  c: number;
  w: number;
  d: 0 | 1 | 2;
}

/** Values on a grid, with commas between them; `18*3` is three times 18. */
export interface Written {
  g: number;
  s: number;
  y: string;
}

/** A plot in bins of one width. */
export interface LevelData {
  y: [number, number, number];
  grids: GridData[];
  lines: Written[];
  /** None where they follow from the lines that stand on each other. */
  bands: [Written, Written][];
}

/** Name, from when to when, and the color behind it. */
export type Phase = [string, number, number, number | null];

export interface Plot {
  title: string;
  unit: string;
  log: boolean;
  height: number;
  rows: string[];
  phases: Phase[];
  lines: LineLook[];
  bands: { c: number; o: number }[];
  /** Whether lines stand on each other: then each is worth the height of its band. */
  stacked: boolean;
  levels: LevelData[];
  rules: [number, string][];
  strokes: [number, number[]][];
}

/** Points of a line: where, and the value or a gap. */
export interface Points {
  grid: Places;
  /** Place of the first value on the grid. */
  start: number;
  values: (number | null)[];
}

/** A level as it is drawn and read. */
export interface Level {
  y: [number, number, number];
  lines: Points[];
  bands: [Points, Points][];
}

/** A grid as it is written: first, step and number of an even one, or each place. */
export type GridData = { even: [number, number, number] } | { each: number[] };

export interface Data {
  colours: [string, string][];
  time: [number, number];
  /** Family, sample, and its width at 100 pixels, regular and semibold, in the font that drawings were measured with. */
  font: [string, string, number, number];
  plots: Plot[];
  drawings: unknown[];
}

/** As it is written: with each list of phases once. */
interface WrittenData extends Omit<Data, "plots"> {
  phases: Phase[][];
  plots: (Omit<Plot, "phases"> & { phases: number })[];
}

/** The data of this page. */
export function read(): Data {
  const written = JSON.parse(document.getElementById("data")?.textContent ?? "{}") as WrittenData;
  const plots = written.plots.map((plot) => ({ ...plot, phases: written.phases[plot.phases] ?? [] }));
  return { ...written, plots };
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
  // Of levels between edges the last one at or before a moment applies.
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

/** Values and gaps out of their text. */
function values(written: string): (number | null)[] {
  const pieces = written === "" ? [] : written.split(",");
  return pieces.flatMap((piece) => {
    const [text = "", times = "1"] = piece.split("*");
    return new Array<number | null>(Number(times)).fill(text === "" ? null : Number(text));
  });
}

/** A level, read. */
export function level(data: LevelData, plot: Plot): Level {
  const grids = data.grids.map(places);
  const points = (written: Written): Points => {
    const grid = grids[written.g];
    if (grid === undefined) throw new Error(`there is no grid ${written.g}`);
    return { grid, start: written.s, values: values(written.y) };
  };
  const lines = data.lines.map(points);
  const written = data.bands.map(([low, high]): [Points, Points] => [points(low), points(high)]);
  const bands = plot.stacked && written.length === 0 ? stacked(lines.slice(0, plot.bands.length)) : written;
  return { y: data.y, lines, bands };
}

/** The bands of lines that stand on each other: each from the nearest line below that has a value there, or from nought. */
function stacked(lines: Points[]): [Points, Points][] {
  const below = new Map<number, number>();
  return lines.map((line) => {
    const low = line.values.map((value, index) => {
      const place = line.start + index;
      const from = below.get(place) ?? 0;
      if (value !== null) below.set(place, value);
      return value === null ? null : from;
    });
    return [{ ...line, values: low }, line];
  });
}

/** The value at a moment; null without one. */
export function valueAt(points: Points, seconds: number): number | null {
  const index = points.grid.index(seconds);
  return index < points.start ? null : (points.values[index - points.start] ?? null);
}

/** A value with three significant figures, and its unit. */
export function inWords(value: number | null, unit: string): string {
  if (value === null) return "–";
  const size = Math.abs(value);
  const digits = size === 0 || (unit === "" && Number.isInteger(value)) ? 0 : size < 1 ? 3 : size < 10 ? 2 : size < 100 ? 1 : 0;
  return unit === "" ? value.toFixed(digits) : `${value.toFixed(digits)}\u00a0${unit}`;
}
