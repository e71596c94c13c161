// Charts that are not over time: drawn once at their own size, scaled by the page, in the colours of its theme.

import { type ChartOption, type ECharts, init } from "./library";
import { isDark } from "./theme";

export class Drawing {
  private chart: ECharts | null = null;
  private stale = true;
  private near = false;

  constructor(
    private readonly box: HTMLElement,
    private readonly option: unknown,
    private readonly colours: Map<string, string>,
  ) {}

  set isNear(near: boolean) {
    this.near = near;
    if (near && this.stale) this.draw();
  }

  changed(): void {
    this.stale = true;
    if (this.near) this.draw();
  }

  onPaper(paper: boolean): void {
    this.stale = true;
    if (paper ? this.box.closest("details:not([open])") === null : this.near) this.draw();
  }

  private draw(): void {
    this.stale = false;
    const [width, height] = [Number(this.box.dataset["width"]), Number(this.box.dataset["height"])];
    this.chart ??= init(this.box, null, { renderer: "svg", width, height });
    this.chart.setOption(this.themed(this.option, isDark()) as ChartOption, { notMerge: true });
    const svg = this.box.querySelector("svg");
    svg?.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg?.setAttribute("focusable", "false");
    svg?.setAttribute("aria-hidden", "true");
  }

  /** The same with the colours of the theme. */
  private themed(value: unknown, dark: boolean): unknown {
    if (typeof value === "string") {
      return (dark && this.colours.get(value)) || value;
    }
    if (Array.isArray(value)) return value.map((one) => this.themed(one, dark));
    if (typeof value === "object" && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, this.themed(one, dark)]));
    }
    return value;
  }
}
