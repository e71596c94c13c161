// One panel on the page: its picture, its reading, its buttons.

import { type ECharts, init } from "./library";
import { type Level, type Plot, inWords, level, valueAt } from "./data";
import { MARGIN, option, pictureHeight, reading } from "./option";
import { isDark } from "./theme";
import { Zoom } from "./zoom";

/** Pixels that a pointer moves before it marks a stretch to zoom into. */
const DRAG = 6;
/** Width of pictures on paper, pixels: the text of a page of A4 with its margins. */
const PAPER = 690;
/** Most rows of a table of values. */
const ROWS = 40;

/** What panels have in common. */
export interface Shared {
  zoom: Zoom;
  colours: [string, string][];
  /** Reads every panel at this moment; null ends it. */
  readAt(seconds: number | null, by: Panel | null): void;
}

export class Panel {
  private readonly surface: HTMLElement;
  private readonly cursor: HTMLElement;
  private readonly mark: HTMLElement;
  private readonly tip: HTMLElement;
  private readonly levels: Level[];
  private readonly hidden = new Set<number>();
  private readonly now = new Map<number, HTMLElement>();
  private chart: ECharts | null = null;
  private stale = true;
  private near = false;
  private read: number | null = null;
  private paper = false;

  constructor(
    private readonly figure: HTMLElement,
    private readonly box: HTMLElement,
    private readonly plot: Plot,
    private readonly shared: Shared,
  ) {
    this.levels = plot.levels.map((data) => level(data, plot));
    box.replaceChildren();
    const part = (name: string) => {
      const made = document.createElement("div");
      made.className = name;
      made.setAttribute("aria-hidden", "true");
      box.append(made);
      return made;
    };
    this.surface = part("surface");
    [this.mark, this.cursor, this.tip] = [part("mark"), part("cursor"), part("tip")];
    [this.mark, this.cursor, this.tip].forEach((hidden) => (hidden.hidden = true));
    this.buttons();
    this.pointer();
    this.keys();
    this.values();
  }

  get scope(): string {
    return this.figure.dataset["scope"] ?? "";
  }

  /** Whether it is on the screen or close to it. */
  set isNear(near: boolean) {
    this.near = near;
    if (near && this.stale) this.draw();
  }

  /** Something has changed: it is drawn when someone looks. */
  changed(): void {
    this.stale = true;
    this.place(this.read);
    if (this.near) this.draw();
    if (this.figure.querySelector<HTMLDetailsElement>("details.values")?.open) this.fillValues();
  }

  /** Draws for paper, or for the screen again. */
  onPaper(paper: boolean): void {
    this.paper = paper;
    this.stale = true;
    // What lies in something that is folded is not printed.
    if (paper ? this.figure.closest("details:not([open])") === null : this.near) this.draw();
  }

  private get width(): number {
    return this.paper ? PAPER : Math.max(this.box.clientWidth, 200);
  }

  private get height(): number {
    return pictureHeight(this.plot);
  }

  /** The finer bins where less than half of the time is shown. */
  private get level(): Level {
    const finest = this.levels[this.levels.length - 1];
    const chosen = this.shared.zoom.part < 0.5 ? finest : this.levels[0];
    if (chosen === undefined) throw new Error("a plot has no level");
    return chosen;
  }

  private draw(): void {
    this.stale = false;
    const { zoom, colours } = this.shared;
    const width = this.width;
    this.chart ??= init(this.surface, null, { renderer: "svg", width, height: this.height });
    this.chart.resize({ width, height: this.height });
    const colour = (index: number) => colours[index]?.[isDark() ? 1 : 0] ?? "#888888";
    const shown = { from: zoom.from, to: zoom.to, width };
    this.chart.setOption(option(this.plot, this.level, shown, colour, this.hidden), { notMerge: true });
    const svg = this.surface.querySelector("svg");
    svg?.setAttribute("viewBox", `0 0 ${width} ${this.height}`);
    svg?.setAttribute("focusable", "false");
  }

  /** Names beside the picture hide and show their lines. */
  private buttons(): void {
    this.figure.querySelectorAll<HTMLElement>("tr[data-line]").forEach((row) => {
      const index = Number(row.dataset["line"]);
      const cell = row.querySelector<HTMLElement>("td.now");
      if (cell !== null) this.now.set(index, cell);
      const button = row.querySelector("button");
      button?.addEventListener("click", () => {
        if (this.hidden.has(index)) this.hidden.delete(index);
        else this.hidden.add(index);
        button.setAttribute("aria-pressed", String(!this.hidden.has(index)));
        row.classList.toggle("hidden", this.hidden.has(index));
        this.changed();
      });
    });
  }

  private seconds(x: number): number {
    const { zoom } = this.shared;
    const part = (x - MARGIN.left) / (this.width - MARGIN.left - MARGIN.right);
    return zoom.from + Math.min(Math.max(part, 0), 1) * (zoom.to - zoom.from);
  }

  private x(seconds: number): number {
    const { zoom } = this.shared;
    const part = (seconds - zoom.from) / (zoom.to - zoom.from);
    return MARGIN.left + part * (this.width - MARGIN.left - MARGIN.right);
  }

  private pointer(): void {
    let from: number | null = null;
    const at = (event: PointerEvent | WheelEvent | MouseEvent) => event.clientX - this.box.getBoundingClientRect().left;
    const over = () => {
      from = null;
      this.mark.hidden = true;
    };
    this.box.addEventListener("pointerdown", (event) => {
      if (event.button === 0) from = at(event);
      this.shared.readAt(this.seconds(at(event)), this);
    });
    this.box.addEventListener("pointermove", (event) => {
      const x = at(event);
      this.shared.readAt(this.seconds(x), this);
      if (from === null || Math.abs(x - from) < DRAG) return;
      if (!this.box.hasPointerCapture(event.pointerId)) this.box.setPointerCapture(event.pointerId);
      this.mark.hidden = false;
      this.mark.style.left = `${Math.min(from, x)}px`;
      this.mark.style.width = `${Math.abs(x - from)}px`;
    });
    this.box.addEventListener("pointerup", (event) => {
      const start = from;
      over();
      const end = at(event);
      if (start === null || Math.abs(end - start) < DRAG) return;
      const [first, last] = [this.seconds(Math.min(start, end)), this.seconds(Math.max(start, end))];
      this.shared.zoom.show(first, last);
    });
    this.box.addEventListener("pointercancel", over);
    this.box.addEventListener("pointerleave", () => {
      if (from === null) this.shared.readAt(null, this);
    });
    this.box.addEventListener("dblclick", () => this.shared.zoom.act("reset"));
    // Without Ctrl the wheel belongs to the page.
    this.box.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        this.shared.zoom.act(event.deltaY < 0 ? "in" : "out", this.seconds(at(event)));
      },
      { passive: false },
    );
  }

  private keys(): void {
    const step = (direction: number) => {
      const { zoom } = this.shared;
      const length = zoom.to - zoom.from;
      const start = this.read ?? (direction > 0 ? zoom.from : zoom.to);
      const next = Math.min(Math.max(start + (direction * length) / 100, zoom.from), zoom.to);
      this.shared.readAt(next, this);
    };
    const actions: Record<string, () => void> = {
      ArrowLeft: () => step(-1),
      ArrowRight: () => step(1),
      "+": () => this.shared.zoom.act("in", this.read ?? undefined),
      "=": () => this.shared.zoom.act("in", this.read ?? undefined),
      "-": () => this.shared.zoom.act("out", this.read ?? undefined),
      "0": () => this.shared.zoom.act("reset"),
      Home: () => this.shared.readAt(this.shared.zoom.from, this),
      End: () => this.shared.readAt(this.shared.zoom.to, this),
      Escape: () => this.shared.readAt(null, this),
    };
    this.box.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.shiftKey && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
        event.preventDefault();
        this.shared.zoom.act(event.key === "ArrowLeft" ? "earlier" : "later");
        return;
      }
      const action = actions[event.key];
      if (action === undefined) return;
      event.preventDefault();
      action();
    });
    this.box.addEventListener("blur", () => this.shared.readAt(null, this));
  }

  /** Every value of this panel at a moment. */
  valuesAt(seconds: number): (number | null)[] {
    const { lines, bands } = this.level;
    return lines.map((points, index) => {
      const value = valueAt(points, seconds);
      const below = this.plot.stacked ? bands[index]?.[0] : undefined;
      return value === null || below === undefined ? value : value - (valueAt(below, seconds) ?? 0);
    });
  }

  /** Shows what is read at a moment; `leading` is the panel that a reader is in. */
  show(seconds: number | null, leading: boolean): void {
    this.read = seconds;
    this.place(seconds);
    if (seconds === null) {
      this.now.forEach((cell) => (cell.textContent = ""));
      this.tip.hidden = true;
      return;
    }
    const values = this.valuesAt(seconds);
    this.now.forEach((cell, index) => (cell.textContent = inWords(values[index] ?? null, this.plot.unit)));
    this.tip.hidden = !leading || this.plot.lines.length === 0;
    if (!this.tip.hidden) this.fillTip(seconds, values);
  }

  private place(seconds: number | null): void {
    const { zoom } = this.shared;
    this.cursor.hidden = seconds === null || seconds < zoom.from || seconds > zoom.to;
    if (seconds !== null) this.cursor.style.left = `${this.x(seconds)}px`;
  }

  private fillTip(seconds: number, values: (number | null)[]): void {
    const head = document.createElement("strong");
    head.textContent = `${seconds.toFixed(2)} s`;
    const rows = reading(this.plot, values, this.hidden).map(([colour, name, value]) => {
      const row = document.createElement("div");
      const [sample, label, figure] = [document.createElement("i"), document.createElement("span"), document.createElement("b")];
      sample.style.background = `var(--c${colour})`;
      label.textContent = name;
      figure.textContent = value;
      row.append(sample, label, figure);
      return row;
    });
    this.tip.replaceChildren(head, ...rows);
    const x = this.x(seconds);
    const width = this.tip.offsetWidth;
    const left = x + 14 + width > this.width ? x - 14 - width : x + 14;
    this.tip.style.left = `${Math.max(left, 0)}px`;
  }

  /** A table of values, made when it is opened. */
  private values(): void {
    const details = this.figure.querySelector<HTMLDetailsElement>("details.values");
    details?.addEventListener("toggle", () => {
      if (details.open) this.fillValues();
    });
  }

  private fillValues(): void {
    const details = this.figure.querySelector<HTMLDetailsElement>("details.values");
    const grid = this.level.lines[0]?.grid;
    if (details === null || grid === undefined) return;
    const { zoom } = this.shared;
    const all = Array.from({ length: grid.count }, (_, index) => grid.at(index));
    const shown = all.filter((at, index) => at >= zoom.from && at <= zoom.to && at !== all[index - 1]);
    const every = Math.max(1, Math.ceil(shown.length / ROWS));
    const moments = shown.filter((_, index) => index % every === 0);
    const table = document.createElement("table");
    table.className = "figures";
    const cell = (row: HTMLTableRowElement, tag: "th" | "td", text: string, scope?: string) => {
      const made = document.createElement(tag);
      made.textContent = text;
      if (scope !== undefined) made.setAttribute("scope", scope);
      row.append(made);
    };
    const caption = table.createCaption();
    caption.textContent = `${this.plot.title}${this.plot.unit === "" ? "" : `, ${this.plot.unit}`}: ${
      every === 1 ? "every bin shown" : `one bin in ${every}; zoom in for the others`
    }`;
    const head = table.createTHead().insertRow();
    cell(head, "th", "s", "col");
    this.plot.lines.forEach((line) => cell(head, "th", line.n || this.plot.title, "col"));
    const body = table.createTBody();
    for (const moment of moments) {
      const row = body.insertRow();
      cell(row, "th", moment.toFixed(2), "row");
      this.valuesAt(moment).forEach((value) => cell(row, "td", inWords(value, "")));
    }
    const scroll = document.createElement("div");
    scroll.className = "scroll";
    scroll.tabIndex = 0;
    scroll.append(table);
    details.querySelector(".scroll")?.remove();
    details.append(scroll);
  }
}
