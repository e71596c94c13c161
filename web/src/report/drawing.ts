// Charts that are not over time: drawn once at their own size, scaled by the page, in the colors of its theme.

import type { Data } from "./data";
import { type ChartOption, type ECharts, init } from "./library";
import { isDark } from "./theme";

/** Sizes of letters, regular and bold, that take the room which drawings have for them. */
export interface Letters {
  regular: number;
  bold: number;
}

/** How much smaller letters have to be where the font that drawings were measured with is not installed. */
export function fitting([family, sample, regular, semibold]: Data["font"]): Letters {
  const context = document.createElement("canvas").getContext("2d");
  const part = (weight: number, width: number) => {
    if (context === null) return 1;
    context.font = `${weight} 100px ${family}`;
    return Math.min(1, width / context.measureText(sample).width);
  };
  return { regular: part(400, regular), bold: part(600, semibold) };
}

export class Drawing {
  private chart: ECharts | null = null;
  private stale = true;
  private near = false;

  constructor(
    private readonly box: HTMLElement,
    private readonly option: unknown,
    private readonly colors: Map<string, string>,
    private readonly letters: Letters,
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

  /** The same with the colors of the theme. */
  private themed(value: unknown, dark: boolean): unknown {
    if (typeof value === "string") {
      const colored = (dark && this.colors.get(value)) || value;
      const { regular, bold } = this.letters;
      // A font as style sheets write it: weight, size, family.
      return colored.replace(/^(\d+) ([\d.]+)px /, (_, weight, size) => {
        return `${weight} ${smaller(Number(size), Number(weight) >= 600 ? bold : regular)}px `;
      });
    }
    if (Array.isArray(value)) return value.map((one) => this.themed(one, dark));
    if (typeof value === "object" && value !== null) {
      const part = ([key, one]: [string, unknown]) =>
        [key, key === "fontSize" ? smaller(Number(one), this.letters.regular) : this.themed(one, dark)] as const;
      return Object.fromEntries(Object.entries(value).map(part));
    }
    return value;
  }
}

function smaller(size: number, part: number): number {
  return Math.round(size * part * 100) / 100;
}
