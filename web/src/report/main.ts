// The report's script: it draws, zooms and reads the charts of a page whose words are all there without it.

import { read } from "./data";
import { Drawing, fitting } from "./drawing";
import { Panel, type Shared } from "./panel";
import { forPaper, onTheme, start } from "./theme";
import { type Action, Zoom } from "./zoom";

/** How far outside the window charts are drawn already. */
const AHEAD = "500px";

document.documentElement.classList.add("with-script");
const data = read();
const zoom = new Zoom(data.time);
const panels: Panel[] = [];
const drawings: Drawing[] = [];
const parts = new Map<Element, Panel | Drawing>();

const shared: Shared = {
  zoom,
  colours: data.colours,
  readAt(seconds, by) {
    // Panels of another run tell of another time of day; those of the same run are read together.
    panels.forEach((panel) => panel.show(by !== null && panel.scope === by.scope ? seconds : null, panel === by));
  },
};

document.querySelectorAll<HTMLElement>("figure[data-plot]").forEach((figure) => {
  const plot = data.plots[Number(figure.dataset["plot"])];
  const box = figure.querySelector<HTMLElement>(".plot");
  if (plot === undefined || box === null) return;
  const panel = new Panel(figure, box, plot, shared);
  panels.push(panel);
  parts.set(figure, panel);
});
const darker = new Map(data.colours);
const letters = fitting(data.font);
document.querySelectorAll<HTMLElement>("[data-drawing]").forEach((box) => {
  const drawing = new Drawing(box, data.drawings[Number(box.dataset["drawing"])], darker, letters);
  drawings.push(drawing);
  parts.set(box, drawing);
});
const all = [...panels, ...drawings];

const watcher = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      const part = parts.get(entry.target);
      if (part !== undefined) part.isNear = entry.isIntersecting;
    }
  },
  { rootMargin: AHEAD },
);
parts.forEach((_, element) => watcher.observe(element));

const sayRange = () => document.querySelectorAll("output.range").forEach((output) => (output.textContent = zoom.words()));
zoom.onChange(() => {
  panels.forEach((panel) => panel.changed());
  sayRange();
});
sayRange();
document.querySelectorAll<HTMLElement>("button[data-zoom]").forEach((button) => {
  button.addEventListener("click", () => zoom.act(button.dataset["zoom"] as Action));
});

const button = document.getElementById("theme");
if (button !== null) start(button);
onTheme(() => all.forEach((part) => part.changed()));

let width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  panels.forEach((panel) => panel.changed());
});

let printing = false;
let opened: HTMLDetailsElement[] = [];
function print(paper: boolean): void {
  if (paper === printing) return;
  printing = paper;
  if (paper) {
    opened = [...document.querySelectorAll<HTMLDetailsElement>("details[data-print=open]:not([open])")];
  }
  opened.forEach((details) => (details.open = paper));
  forPaper(paper);
  all.forEach((part) => part.onPaper(paper));
}
window.addEventListener("beforeprint", () => print(true));
window.addEventListener("afterprint", () => print(false));
window.matchMedia("print").addEventListener("change", (event) => print(event.matches));
