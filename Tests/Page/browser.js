"use strict";
// A headless Chromium, driven over a pipe by the DevTools protocol: needs no package.
const { spawn } = require("node:child_process");
const { writeFileSync } = require("node:fs");

const patience = 60_000;
const codes = { Tab: 9, Enter: 13, Escape: 27, End: 35, Home: 36, ArrowLeft: 37, ArrowRight: 39 };

/**
 * Opens a tab and gives it to `use`; prints what is wrong and ends the process, with status 0 when nothing is.
 *
 * @param folder where its profile and the pictures go
 * @param use gets the tab
 */
const browse = (folder, use) => {
  const problems = [];
  const browser = spawn(
    "chromium",
    [
      "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
      "--no-first-run", "--no-proxy-server", "--hide-scrollbars", "--remote-debugging-pipe",
      `--user-data-dir=${folder}/profile`, "about:blank",
    ],
    { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });

  let number = 0;
  let session;
  const waiting = new Map();
  const listeners = [];
  let buffered = "";
  browser.stdio[4].on("data", (data) => {
    buffered += data;
    const messages = buffered.split("\0");
    buffered = messages.pop();
    for (const text of messages) {
      const message = JSON.parse(text);
      if (message.id) {
        const { resolve, reject } = waiting.get(message.id);
        waiting.delete(message.id);
        if (message.error) reject(new Error(message.error.message)); else resolve(message.result);
      } else {
        for (const listener of listeners) listener(message);
      }
    }
  });

  const send = (method, params = {}) => new Promise((resolve, reject) => {
    number += 1;
    waiting.set(number, { resolve, reject });
    browser.stdio[3].write(`${JSON.stringify({ id: number, method, params, sessionId: session })}\0`);
  });

  const evaluate = async (expression) => {
    const { result, exceptionDetails } = await send(
      "Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  };

  const tab = {
    problems, send, evaluate,
    expect: (isTrue, text) => { if (!isTrue) problems.push(text); },
    // Until an expression in the page, or a function here, is true.
    until: async (expression) => {
      const end = Date.now() + patience;
      while (Date.now() < end) {
        const value = await (typeof expression === "function" ? expression() : evaluate(expression));
        if (value) return value;
        await new Promise((resolve) => { setTimeout(resolve, 50); });
      }
      throw new Error(`never true: ${expression}`);
    },
    press: async (key, text = undefined) => {
      const event = { key, code: key, text, windowsVirtualKeyCode: codes[key] };
      await send("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", ...event });
      await send("Input.dispatchKeyEvent", { type: "keyUp", ...event });
    },
    // The whole page, or what of it is seen first.
    shoot: async (name, isWhole = true) => {
      const { data } = await send("Page.captureScreenshot", { format: "png", captureBeyondViewport: isWhole });
      writeFileSync(`${folder}/${name}.png`, Buffer.from(data, "base64"));
    },
    size: (width, height = 900, scale = 1) => send(
      "Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: scale, mobile: width < 500 }),
    colours: (scheme) => send(
      "Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] }),
    language: (language) => send(
      "Emulation.setUserAgentOverride", { userAgent: "test", acceptLanguage: language }),
    go: (url) => send("Page.navigate", { url }),
    listen: (listener) => listeners.push(listener),
  };

  const begin = async () => {
    const { targetId } = await send("Target.createTarget", { url: "about:blank" });
    ({ sessionId: session } = await send("Target.attachToTarget", { targetId, flatten: true }));
    listeners.push(({ method, params }) => {
      if (method === "Runtime.exceptionThrown") problems.push(`an exception: ${params.exceptionDetails.exception?.description}`);
      if (method === "Log.entryAdded" && params.entry.level === "error") problems.push(`an error: ${params.entry.text}`);
    });
    for (const domain of ["Page", "Runtime", "Network", "Log"]) await send(`${domain}.enable`);
    await use(tab);
  };
  begin().catch((error) => problems.push(error.stack)).then(() => {
    browser.kill("SIGKILL");
    for (const problem of problems) console.log(problem);
    process.exit(problems.length === 0 ? 0 : 1);
  });
};

// What is wrong with how the page looks now, as a list of texts.
const flaws = `(() => {
  const found = [];
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) found.push("must be moved sideways");
  const seen = [...document.querySelectorAll("body *")].filter((each) => {
    const box = each.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && box.right > 0 && !each.closest("script, style, .skip");
  });
  const text = (each) => [...each.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data.trim()).join("");
  const named = (each) => each.tagName.toLowerCase() + (each.id ? "#" + each.id : "") + " " + each.textContent.slice(0, 40);
  for (const each of seen) {
    const box = each.getBoundingClientRect();
    if (box.right > width + 0.5 || box.left < -0.5) found.push("is cut: " + named(each));
    if (text(each) && !each.closest("svg") && each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).display !== "inline") {
      found.push("is wider than its place: " + named(each));
    }
    if (box.right > (each.closest(".panel")?.getBoundingClientRect().right ?? width) + 0.5) found.push("is wider than its panel: " + named(each));
    for (const node of each.childNodes) {
      if (node.nodeType !== 3 || node.data.length > 18 || /[^!-,.-~]/.test(node.data)) continue;
      const range = document.createRange();
      range.selectNode(node);
      if (range.getClientRects().length > 1) found.push("a short word is broken in two: " + node.data);
    }
    if (each.tagName === "text") {
      const plot = each.closest("svg").getBoundingClientRect();
      if (box.left < plot.left - 1 || box.right > plot.right + 1 || box.bottom > plot.bottom + 1 || box.top < plot.top - 1) found.push("is outside of its chart: " + named(each));
    }
  }
  for (const plot of document.querySelectorAll(".plot")) {
    const texts = [...plot.querySelectorAll("text")].map((each) => each.getBoundingClientRect());
    texts.forEach((one, index) => texts.slice(index + 1).forEach((other) => {
      if (one.left < other.right && other.left < one.right && one.top + 2 < other.bottom && other.top + 2 < one.bottom) found.push("texts overlap in " + plot.id);
    }));
  }
  // The contrast of each text with what is behind it (WCAG 2, 1.4.3 wants 4.5).
  const rgb = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = rgb(colour).map((value) => value / 255)
      .map((value) => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if ((rgb(colour)[3] ?? 1) > 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  for (const each of seen.filter(text)) {
    const colour = getComputedStyle(each)[each.tagName === "text" ? "fill" : "color"];
    const [one, two] = [light(colour), light(behind(each))].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (two + 0.05);
    if (ratio < 4.5) found.push("contrast " + ratio.toFixed(2) + ": " + named(each));
  }
  // Names of controls, the order of headings, ids.
  for (const each of seen.filter((control) => control.matches("a, button, input, select, [tabindex='0'], [role=img], svg:not([aria-hidden])"))) {
    const name = each.ariaLabel || each.labels?.[0]?.textContent || each.textContent;
    if (!name.trim()) found.push("has no name: " + each.outerHTML.slice(0, 80));
  }
  let level = 0;
  for (const each of document.querySelectorAll("h1, h2, h3")) {
    if (Number(each.tagName[1]) > level + 1) found.push("a heading is left out before " + named(each));
    level = Number(each.tagName[1]);
  }
  const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push("an id twice: " + id);
  if (/undefined|NaN|null|Infinity|\\{\\}/.test(document.body.innerText)) found.push("a value that is none: " + document.body.innerText.match(/.{0,30}(undefined|NaN|null|Infinity|\\{\\}).{0,20}/)[0]);
  return found;
})()`;

module.exports = { browse, flaws };
