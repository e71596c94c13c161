// The report in a browser, as a reader meets it. crates/rrul/tests/report.rs makes the pages and runs this:
//
//   RRUL_CHROMIUM  the browser
//   RRUL_ONE       report of one recording, whose title would be a script if it were not escaped
//   RRUL_TWO       report of two recordings
//   RRUL_PARTIAL   report of a recording that was cut short
//   RRUL_PICTURES  folder for pictures of the pages; none are taken without it
import assert from "node:assert/strict";
import path from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const { RRUL_CHROMIUM, RRUL_ONE, RRUL_TWO, RRUL_PARTIAL, RRUL_PICTURES } = process.env;
const QUIET = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const WIDE = { width: 1400, height: 1000 };
const PHONE = { width: 390, height: 844 };

let browser;
before(async () => {
  browser = await chromium.launch({ executablePath: RRUL_CHROMIUM, args: QUIET });
});
after(() => browser?.close());

/** Opens a report; fails when it asks for anything, complains, or opens a dialog. */
async function open(file, options = {}) {
  const context = await browser.newContext({ viewport: WIDE, colorScheme: "light", ...options });
  const page = await context.newPage();
  const trouble = [];
  const address = pathToFileURL(file).href;
  page.on("request", (request) => request.url() === address || trouble.push(`asks for ${request.url()}`));
  page.on("console", (message) => trouble.push(`says ${message.text()}`));
  page.on("pageerror", (error) => trouble.push(`throws ${error.message}`));
  page.on("dialog", (dialog) => trouble.push(`opens a dialog: ${dialog.message()}`));
  await page.goto(address);
  const close = async () => {
    await context.close();
    assert.deepEqual(trouble, []);
  };
  return { page, close, trouble };
}

/** The first panel with this title, drawn. */
async function panel(page, title) {
  const found = page.locator("figure.panel", { has: page.getByRole("heading", { name: title, exact: true }) }).first();
  await found.scrollIntoViewIfNeeded();
  await found.locator(".surface svg").waitFor();
  return found;
}

/** What stands along the horizontal axis of a panel. */
async function axis(figure) {
  const texts = await figure.locator(".surface svg text").allTextContents();
  return texts.filter((text) => text.endsWith(" s"));
}

const range = (page) => page.locator("output.range").first().textContent();

/** Drags across a panel from one part of its width to another. */
async function drag(page, figure, from, to) {
  await figure.locator(".plot").scrollIntoViewIfNeeded();
  const box = await figure.locator(".plot").boundingBox();
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * from, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * ((from + to) / 2), y, { steps: 4 });
  await page.mouse.move(box.x + box.width * to, y, { steps: 4 });
  await page.mouse.up();
}

test("it opens from disk, asks nobody for anything, and words of others stay words", async () => {
  const { page, close, trouble } = await open(RRUL_ONE);
  assert.equal(await page.locator("h1").textContent(), "</script><img src=x onerror=alert(1)>");
  assert.equal(await page.locator("img").count(), 0);
  assert.match(await page.locator(".verdict").innerText(), /Valid|Doubtful|Invalid/);
  // Its own policy forbids every script but its own.
  const ran = await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.intruded = true";
    document.body.append(script);
    return window.intruded === true;
  });
  assert.equal(ran, false);
  assert.deepEqual(trouble.splice(0).map((said) => /Content Security Policy/.test(said)), [true]);
  await close();
});

test("phases are named above each chart", async () => {
  const { page, close } = await open(RRUL_ONE);
  for (const title of ["Round-trip delay", "Download"]) {
    const texts = await (await panel(page, title)).locator(".surface svg text").allTextContents();
    for (const name of ["idle", "load", "after"]) assert.ok(texts.includes(name), `${name} is not in: ${texts}`);
  }
  await close();
});

test("zooming one chart zooms all, with the mouse and with buttons", async () => {
  const { page, close } = await open(RRUL_ONE);
  const delay = await panel(page, "Round-trip delay");
  const download = await panel(page, "Download");
  const whole = await axis(download);
  await drag(page, delay, 0.4, 0.6);
  assert.match(await range(page), /^\d+\.\d+ s to \d+\.\d+ s$/);
  const zoomed = await axis(await panel(page, "Download"));
  assert.notDeepEqual(zoomed, whole);
  assert.deepEqual(zoomed, await axis(await panel(page, "Round-trip delay")));
  const before = await range(page);
  await page.getByRole("button", { name: "Later" }).first().click();
  assert.notEqual(await range(page), before);
  await page.getByRole("button", { name: "Zoom out" }).first().click();
  await page.getByRole("button", { name: "Show the whole time" }).first().click();
  assert.equal(await range(page), "The whole time is shown");
  assert.deepEqual(await axis(await panel(page, "Download")), whole);
  await page.getByRole("button", { name: "Zoom in" }).first().click();
  await (await panel(page, "Round-trip delay")).locator(".plot").dblclick();
  assert.equal(await range(page), "The whole time is shown");
  await close();
});

test("every line is read where the pointer is, in every panel of the run", async () => {
  const { page, close } = await open(RRUL_ONE);
  const delay = await panel(page, "Round-trip delay");
  const box = await delay.locator(".plot").boundingBox();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 100);
  const tip = delay.locator(".tip");
  await tip.waitFor({ state: "visible" });
  const names = await delay.locator("tr[data-line] button span").allTextContents();
  const read = await tip.innerText();
  for (const name of names) assert.ok(read.includes(name), `${name} is not in: ${read}`);
  assert.match(read, /\d+(\.\d+)?\s(ms|s|µs)/);
  const others = await page.locator("figure.panel", { hasText: "Download" }).first().locator("td.now").allTextContents();
  assert.ok(others.length > 0 && others.every((text) => /bit\/s$|^–$/.test(text)), String(others));
  // What is read is what the page holds for that moment.
  const agrees = await page.evaluate(() => {
    const data = JSON.parse(document.getElementById("data").textContent);
    const figure = document.querySelector("figure.panel .tip:not([hidden])").closest("figure");
    const plot = data.plots[Number(figure.dataset.plot)];
    const seconds = parseFloat(figure.querySelector(".tip strong").textContent);
    const level = plot.levels[0];
    const line = level.lines[plot.lines.length - 1];
    const [first, step] = level.grids[line.g].even;
    const values = line.y.split(",").flatMap((run) => {
      const [value, times = 1] = run.split("*");
      return new Array(Number(times)).fill(value);
    });
    const value = Number(values[Math.round((seconds - first) / step) - line.s]);
    const cells = figure.querySelectorAll("td.now");
    return [value, parseFloat(cells[cells.length - 1].textContent)];
  });
  assert.ok(Math.abs(agrees[0] - agrees[1]) <= 0.01 * agrees[0], String(agrees));
  await page.mouse.move(5, 5);
  await tip.waitFor({ state: "hidden" });
  await close();
});

test("a name hides its line and shows it again", async () => {
  const { page, close } = await open(RRUL_ONE);
  const download = await panel(page, "Download");
  const lines = () => download.locator(".surface svg path[fill='none']").count();
  const [all, button] = [await lines(), download.locator("tr[data-line] button").first()];
  assert.equal(await button.getAttribute("aria-pressed"), "true");
  await button.click();
  assert.equal(await button.getAttribute("aria-pressed"), "false");
  assert.equal(await lines(), all - 1);
  await button.focus();
  await page.keyboard.press("Enter");
  assert.equal(await button.getAttribute("aria-pressed"), "true");
  assert.equal(await lines(), all);
  await close();
});

test("everything can be done with the keyboard", async () => {
  const { page, close } = await open(RRUL_ONE);
  const delay = await panel(page, "Round-trip delay");
  const plot = delay.locator(".plot");
  await plot.focus();
  assert.notEqual(await plot.evaluate((element) => getComputedStyle(element).outlineStyle), undefined);
  await page.keyboard.press("ArrowRight");
  const first = await delay.locator(".tip strong").textContent();
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await delay.locator(".tip strong").textContent(), first);
  await page.keyboard.press("+");
  const zoomed = await range(page);
  assert.match(zoomed, /s to/);
  await page.keyboard.press("Shift+ArrowRight");
  assert.notEqual(await range(page), zoomed);
  await page.keyboard.press("-");
  await page.keyboard.press("0");
  assert.equal(await range(page), "The whole time is shown");
  await page.keyboard.press("Escape");
  assert.equal(await delay.locator(".tip").isVisible(), false);
  await close();
});

test("the keyboard reaches all that can be pressed, and shows where it is", async () => {
  const { page, close } = await open(RRUL_ONE);
  const reached = [];
  for (let step = 0; step < 20; step += 1) {
    await page.keyboard.press("Tab");
    const [name, outline] = await page.evaluate(() => {
      const element = document.activeElement;
      return [element.className || element.id || element.dataset.zoom || element.tagName, getComputedStyle(element).outlineStyle];
    });
    assert.equal(outline, "solid", `no outline around ${name}`);
    reached.push(name);
  }
  for (const name of ["skip", "in", "plot", "line"]) assert.ok(reached.includes(name), `${name} not in ${reached}`);
  await close();
});

test("all that is drawn and pressed has a name", async () => {
  for (const file of [RRUL_ONE, RRUL_TWO]) {
    const { page, close } = await open(file);
    const nameless = await page.evaluate(() => {
      const named = (element) => (element.getAttribute("aria-label") || element.textContent).trim() !== "";
      const all = [...document.querySelectorAll("button, a, summary, [role=group], [role=img], [role=region], [role=toolbar]")];
      const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
      const twice = ids.filter((id, index) => ids.indexOf(id) !== index);
      return [...all.filter((element) => !named(element)).map((element) => element.outerHTML.slice(0, 80)), ...twice];
    });
    assert.deepEqual(nameless, []);
    const words = await page.locator(".plot").first().getAttribute("aria-label");
    assert.match(words, /Round-trip delay over time.* ms/);
    await close();
  }
});

test("the theme is that of the system until the button says otherwise", async () => {
  const { page, close } = await open(RRUL_ONE, { colorScheme: "dark" });
  const look = () =>
    page.evaluate(() => {
      const svg = document.querySelector(".surface svg");
      return [getComputedStyle(document.body).backgroundColor, [...svg.querySelectorAll("path")].map((path) => path.getAttribute("stroke")).sort().join()];
    });
  await panel(page, "Round-trip delay");
  const dark = await look();
  assert.equal(dark[0], "rgb(18, 23, 29)");
  await page.getByRole("button", { name: "Switch to the light theme" }).click();
  const light = await look();
  assert.equal(light[0], "rgb(255, 255, 255)");
  assert.notEqual(light[1], dark[1]);
  await page.getByRole("button", { name: "Switch to the dark theme" }).click();
  assert.deepEqual(await look(), dark);
  await page.emulateMedia({ colorScheme: "light" });
  assert.deepEqual(await look(), dark, "what was chosen stays");
  await close();
});

test("values over time can be had as a table", async () => {
  const { page, close } = await open(RRUL_ONE);
  const delay = await panel(page, "Round-trip delay");
  await delay.getByText("Values over time as a table").click();
  // The browser says that it was opened a moment after it was.
  await delay.locator(".values tbody tr").first().waitFor();
  const rows = await delay.locator(".values tbody tr").count();
  assert.ok(rows > 5 && rows <= 41, String(rows));
  const heads = await delay.locator(".values thead th").count();
  assert.equal(heads, 1 + (await delay.locator("tr[data-line]").count()));
  await close();
});

test("nothing is wider than a phone", async () => {
  for (const file of [RRUL_ONE, RRUL_TWO, RRUL_PARTIAL]) {
    const { page, close } = await open(file, { viewport: PHONE, hasTouch: true, isMobile: true });
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= PHONE.width);
    const delay = await panel(page, "Round-trip delay");
    const svg = await delay.locator(".surface svg").boundingBox();
    assert.ok(svg.width <= PHONE.width && svg.width > PHONE.width * 0.8, `${svg.width} wide`);
    const smallest = await delay.locator(".surface svg text").evaluateAll((texts) => Math.min(...texts.map((text) => parseFloat(getComputedStyle(text).fontSize))));
    assert.ok(smallest >= 11, `letters of ${smallest} pixels`);
    const smallButtons = await page.locator("button:visible").evaluateAll((all) => all.filter((button) => button.getBoundingClientRect().height < 24).length);
    assert.equal(smallButtons, 0);
    await close();
  }
});

test("paper has all charts, in light colours, and nothing to press", async () => {
  const { page, close } = await open(RRUL_ONE, { colorScheme: "dark" });
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  await page.waitForFunction(() => document.querySelector("details.reading").open);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
  assert.equal(await page.locator(".zoom").first().isVisible(), false);
  assert.equal(await page.locator("#theme").isVisible(), false);
  const missing = await page.evaluate(() =>
    [...document.querySelectorAll("figure.panel")].filter((figure) => {
      const svg = figure.querySelector(".surface svg");
      return figure.closest("details:not([open])") === null && (svg === null || svg.getBoundingClientRect().height < 50);
    }).length,
  );
  assert.equal(missing, 0);
  const paper = await page.pdf({ format: "A4" });
  assert.equal(paper.subarray(0, 5).toString(), "%PDF-");
  assert.ok((paper.toString("latin1").match(/\/Type\s*\/Page\b/g) ?? []).length >= 3);
  await page.emulateMedia({ media: "screen" });
  await page.waitForFunction(() => !document.querySelector("details.reading").open);
  await close();
});

test("two runs are set side by side, and each has its part", async () => {
  const { page, close } = await open(RRUL_TWO);
  assert.equal(await page.locator("section.run").count(), 2);
  const delay = await panel(page, "Round-trip delay");
  assert.equal(await delay.locator("tr[data-line]").count(), 2);
  await page.locator("nav a").nth(1).click();
  assert.equal(await page.evaluate(() => location.hash), "#run2");
  await close();
});

test("a run that was cut short says so first", async () => {
  const { page, close } = await open(RRUL_PARTIAL);
  assert.match(await page.locator(".verdict").innerText(), /Doubtful|Invalid/);
  assert.match(await page.locator(".absent").innerText(), /The rest of the run: not measured: the recording is not complete/);
  await close();
});

test("without script all words and figures are there", async () => {
  const { page, close } = await open(RRUL_ONE, { javaScriptEnabled: false });
  assert.equal(await page.locator(".zoom").first().isVisible(), false);
  assert.ok(await page.getByText("The picture needs script").first().isVisible());
  assert.ok((await page.locator("table.figures").count()) > 2);
  await close();
});

test("pictures of the pages", { skip: RRUL_PICTURES === undefined && "RRUL_PICTURES names no folder" }, async () => {
  for (const [name, file] of [["one", RRUL_ONE], ["two", RRUL_TWO], ["partial", RRUL_PARTIAL]]) {
    for (const colorScheme of ["light", "dark"]) {
      for (const viewport of [WIDE, PHONE]) {
        const { page, close } = await open(file, { viewport, colorScheme });
        await panel(page, "Round-trip delay");
        await page.evaluate(() => window.scrollTo(0, 0));
        await page.screenshot({ path: path.join(RRUL_PICTURES, `${name}-${colorScheme}-${viewport.width}.png`) });
        await close();
      }
    }
  }
});
