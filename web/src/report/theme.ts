// Light or dark: what the reader's system prefers, until the button says otherwise; on paper always light.

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const listeners: (() => void)[] = [];
let chosen: "light" | "dark" | null = null;
let onPaper = false;

/** Whether charts are drawn in the dark theme now. */
export function isDark(): boolean {
  return !onPaper && (chosen === null ? dark.matches : chosen === "dark");
}

/** Calls back after every change. */
export function onTheme(listener: () => void): void {
  listeners.push(listener);
}

/** Everything is drawn for paper, or for the screen again. */
export function forPaper(paper: boolean): void {
  onPaper = paper;
  listeners.forEach((listener) => listener());
}

/** Gives the button its work. */
export function start(button: HTMLElement): void {
  const show = () => {
    const other = isDark() ? "light" : "dark";
    button.textContent = other === "dark" ? "Dark theme" : "Light theme";
    button.setAttribute("aria-label", `Switch to the ${other} theme`);
  };
  const changed = () => {
    show();
    listeners.forEach((listener) => listener());
  };
  button.addEventListener("click", () => {
    chosen = isDark() ? "light" : "dark";
    document.documentElement.dataset["theme"] = chosen;
    changed();
  });
  dark.addEventListener("change", changed);
  show();
}
