// The stretch of time that every chart shows.

/** Shortest stretch, seconds. */
const SHORTEST = 0.5;
/** Part of the stretch by which a step zooms or moves. */
const STEP = 0.25;

export type Action = "in" | "out" | "earlier" | "later" | "reset";

export class Zoom {
  from: number;
  to: number;
  private readonly listeners: (() => void)[] = [];

  constructor(private readonly full: [number, number]) {
    [this.from, this.to] = full;
  }

  /** Whether all of the time is shown. */
  get whole(): boolean {
    return this.from === this.full[0] && this.to === this.full[1];
  }

  /** The part of all of the time that is shown. */
  get part(): number {
    return (this.to - this.from) / (this.full[1] - this.full[0]);
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Shows this stretch, as far as data reaches. */
  show(from: number, to: number): void {
    const [first, last] = this.full;
    const length = Math.min(Math.max(to - from, Math.min(SHORTEST, last - first)), last - first);
    const middle = (from + to) / 2;
    const start = Math.min(Math.max(middle - length / 2, first), last - length);
    const round = (seconds: number) => Math.round(seconds * 100) / 100;
    // Rounded, but never beyond the ends, which need not be round.
    const next: [number, number] = [Math.max(round(start), first), Math.min(round(start + length), last)];
    if (next[0] === this.from && next[1] === this.to) return;
    [this.from, this.to] = next;
    this.listeners.forEach((listener) => listener());
  }

  /** One step; `around` stays where it is while zooming. */
  act(action: Action, around = (this.from + this.to) / 2): void {
    const length = this.to - this.from;
    const scaled = (factor: number) =>
      this.show(around - (around - this.from) * factor, around + (this.to - around) * factor);
    const moved = (by: number) => {
      const room = by < 0 ? Math.max(by, this.full[0] - this.from) : Math.min(by, this.full[1] - this.to);
      this.show(this.from + room, this.to + room);
    };
    switch (action) {
      case "in":
        return scaled(1 - 2 * STEP);
      case "out":
        return scaled(1 / (1 - 2 * STEP));
      case "earlier":
        return moved(-length * STEP);
      case "later":
        return moved(length * STEP);
      case "reset":
        return this.show(...this.full);
    }
  }

  /** The stretch in words. */
  words(): string {
    const seconds = (value: number) => value.toFixed(this.to - this.from < 10 ? 2 : 1);
    return this.whole ? "The whole time is shown" : `${seconds(this.from)} s to ${seconds(this.to)} s`;
  }
}
