"use strict";
// Opens the monitoring page of a server, uses it as a reader does, and prints what is wrong with it.
//
//   node page.js URL FOLDER LEVEL [QUERIES [A NAME ASKED FOR]]
//
// LEVEL: green, amber or red. QUERIES: how many it is to show of the last five minutes; empty: that their number changes.
// Screenshots go to FOLDER: light.png, dark.png. Exit status 0: nothing is wrong.
const { browse, flaws } = require("./browser.js");

const [url, folder, level, queries = "", name = ""] = process.argv.slice(2);
const traffic = `document.getElementById("traffic").textContent`;
const slider = `document.getElementById("answers")`;

browse(folder, async ({ expect, evaluate, until, press, shoot, size, send, go, colours, language, listen, problems }) => {
  listen(({ method, params }) => {
    if (method === "Network.requestWillBeSent" && !params.request.url.startsWith(url) && !params.request.url.startsWith("data:")) {
      problems.push(`a request to ${params.request.url}`);
    }
  });
  const look = async (what) => { for (const flaw of await evaluate(flaws)) expect(false, `${what}: ${flaw}`); };
  await language("en");
  await size(1280);
  await go(`${url}/`);

  // At a glance, and live without a reload.
  await until(`document.getElementById("state")?.classList.contains(${JSON.stringify(level)})`);
  if (queries) {
    await until(`${traffic}.includes("${queries} queries in the last 5 minutes")`);
  } else {
    const first = await evaluate(traffic);
    await until(`${traffic} !== ${JSON.stringify(first)}`);
  }
  expect(await evaluate(`document.querySelectorAll("#causes li").length > 0`) === (level !== "green"), "causes of a verdict that is green, or none");
  expect(await evaluate(`[...document.querySelectorAll("#causes li")].every((each) => each.querySelector("small:last-child").textContent.length > 2)`), "a cause without what mends it");
  expect(await evaluate(`document.getElementById("providers").textContent.includes("vendor")`), "no provider");
  expect(await evaluate(`document.getElementById("connection").textContent`) === "live", "not live");
  if (level === "green") {
    await until(`document.querySelectorAll("#answers path[fill]").length > 0 && document.querySelector("#latency .line").getAttribute("d") !== ""`);
    for (const id of ["answers", "cached", "calls"]) {
      await until(`[...document.querySelectorAll("#${id} path:not([class])")].some((path) => path.getAttribute("d"))`);
    }
    expect(await evaluate(`document.querySelectorAll("#answers text").length > 5`), "a chart without scale and clock times");
  }

  // A name is text, whatever it is.
  if (name) {
    await until(`document.getElementById("names").textContent.includes(${JSON.stringify(name)})`);
    expect(await evaluate(`document.querySelectorAll("#names script").length`) === 0, "a name became markup");
  } else {
    expect(await evaluate(`document.getElementById("names").hidden`), "names are shown");
    expect(!(await evaluate(`document.getElementById("names").parentNode.innerText`)).includes("example"), "a name is shown");
  }

  // With the keyboard alone: the skip link, the box, a look-up.
  await press("Tab");
  await press("Enter", "\r");
  await until(`document.activeElement.id === "lookup"`);
  await press("Tab");
  expect(await evaluate(`document.activeElement.id`) === "name", "the box is not the next stop of the keyboard");
  expect(await evaluate(`getComputedStyle(document.activeElement).outlineStyle`) === "solid", "the stop of the keyboard is not seen");
  await send("Input.insertText", { text: "www.example.com" });
  await press("Enter", "\r");
  await until(`document.querySelectorAll("#story li").length > 2`);
  expect(await evaluate(`document.querySelector("#story").textContent.includes("answer")`), "the story has no end");

  // The charts by the keyboard: values of a time are said, and the same by a pointer are seen.
  await evaluate(`${slider}.focus()`);
  const whole = await evaluate(`${slider}.getAttribute("aria-valuetext")`);
  await press("ArrowLeft");
  await press("ArrowLeft");
  expect(await evaluate(`${slider}.getAttribute("aria-valuenow")`) === "118", "the keyboard does not move in the charts");
  expect(/^Answers a second: \d\d:\d\d/.test(await evaluate(`${slider}.getAttribute("aria-valuetext")`)), "the time is not said");
  await press("Escape");
  expect((await evaluate(`${slider}.getAttribute("aria-valuetext")`)).includes(":") && !/\d\d:\d\d/.test(whole), "the keyboard does not leave the charts");

  await evaluate(`document.getElementById("cached").scrollIntoView({ block: "center" })`);
  const [x, y] = await evaluate(`(({ x, y, width }) => [x + width - 9, y + 40])(document.getElementById("cached").getBoundingClientRect())`);
  // Again and again, a bit further: the first may come before the browser has drawn where it scrolled to. The page stays where it is.
  const scrolled = await evaluate("scrollY");
  let moves = 0;
  await until(async () => {
    moves += 1;
    await send("Input.dispatchMouseEvent", { type: "mouseMoved", x: x - (moves % 5), y });
    return evaluate(`scrollY === ${scrolled} && document.querySelectorAll(".cursor").length === 4 && /^\\d\\d:\\d\\d/.test(document.getElementById("latency-now").textContent)`);
  });

  // The legend is the filter, and the day is there.
  if (level === "green") {
    const before = await evaluate(`document.querySelectorAll("#answers path[fill]").length`);
    await evaluate(`document.querySelector("#sources button").click()`);
    expect(await evaluate(`document.querySelectorAll("#answers path[fill]").length`) === before - 1, "the legend does not filter");
    expect(await evaluate(`document.querySelector("#sources button").getAttribute("aria-pressed")`) === "false", "a filter does not say so");
    await evaluate(`document.querySelector("#sources button").click()`);
  }
  await evaluate(`document.getElementById("day").click()`);
  expect(await evaluate(`document.getElementById("day").getAttribute("aria-pressed")`) === "true", "the day is not shown");

  // What any reader needs.
  await look("light");
  await shoot("light");
  const back = await evaluate(`getComputedStyle(document.body).backgroundColor`);
  await colours("dark");
  expect(await evaluate(`getComputedStyle(document.body).backgroundColor`) !== back, "no dark colours");
  await look("dark");
  await shoot("dark");
  await size(390);
  await until(`${slider}.clientWidth < 390 && ${slider}.firstChild.clientWidth === ${slider}.clientWidth`);
  await look("narrow");

  // Nothing else runs. Last: each of these is an error in the console.
  const known = problems.length;
  const isForeign = await evaluate(`(async () => {
    const script = document.createElement("script");
    script.textContent = "window.foreign = 1";
    document.head.append(script);
    const handler = document.createElement("button");
    handler.setAttribute("onclick", "window.foreign = 2");
    document.body.append(handler);
    handler.click();
    const answer = await fetch("http://127.0.0.1:1/").then(() => 3, () => undefined);
    return window.foreign ?? answer ?? 0;
  })()`);
  problems.length = known;
  expect(isForeign === 0, `the policy lets foreign things run (${isForeign})`);
});
