"use strict";
// Opens the monitoring page in a headless Chromium, uses it as a reader does, and prints what is wrong with it.
//
//   node page.js URL FOLDER [EXPECTED VERDICT [WHAT THE CHART SAYS [A NAME ASKED FOR]]]
//
// Screenshots go to FOLDER: light.png, dark.png, narrow.png. Exit status 0: nothing is wrong. Needs no package: the
// browser is driven over a pipe by the DevTools protocol.
const { spawn } = require("node:child_process");
const { writeFileSync } = require("node:fs");

const [url, folder, verdict = "All is well", said = "", names = ""] = process.argv.slice(2);
const patience = 60_000;
const problems = [];
const expect = (isTrue, text) => { if (!isTrue) problems.push(text); };

const browser = spawn(
    "chromium",
    [
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
        "--no-first-run", "--no-proxy-server", "--remote-debugging-pipe", `--user-data-dir=${folder}/profile`, "about:blank",
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

const until = async (expression) => {
    const end = Date.now() + patience;
    while (Date.now() < end) {
        const value = await evaluate(expression);
        if (value) return value;
        await new Promise((resolve) => { setTimeout(resolve, 50); });
    }
    throw new Error(`never true: ${expression}`);
};

const press = async (key, code = key, text = undefined) => {
    await send("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", key, code, text, windowsVirtualKeyCode: { Tab: 9, Enter: 13 }[key] });
    await send("Input.dispatchKeyEvent", { type: "keyUp", key, code, windowsVirtualKeyCode: { Tab: 9, Enter: 13 }[key] });
};

const shoot = async (name) => {
    const { data } = await send("Page.captureScreenshot", { format: "png", captureBeyondViewport: true });
    writeFileSync(`${folder}/${name}.png`, Buffer.from(data, "base64"));
};

const size = (width) => send(
    "Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: false });

// The least contrast of any text with its background (WCAG 2, 1.4.3 wants 4.5).
const contrast = `(() => {
    const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
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
    let least = 21;
    let which = "";
    for (const element of document.querySelectorAll("body *")) {
        const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
        if (!hasText || element.closest("svg, script, style")) continue;
        const [one, two] = [light(getComputedStyle(element).color), light(behind(element))].sort((a, b) => b - a);
        const ratio = (one + 0.05) / (two + 0.05);
        if (ratio < least) [least, which] = [ratio, element.textContent.slice(0, 40)];
    }
    return { least, which };
})()`;

const use = async () => {
    const { targetId } = await send("Target.createTarget", { url: "about:blank" });
    ({ sessionId: session } = await send("Target.attachToTarget", { targetId, flatten: true }));
    listeners.push(({ method, params }) => {
        if (method === "Network.requestWillBeSent" && !params.request.url.startsWith(url)
            && !params.request.url.startsWith("data:")) {
            problems.push(`a request to ${params.request.url}`);
        }
        if (method === "Runtime.exceptionThrown") problems.push(`an exception: ${params.exceptionDetails.exception?.description}`);
        if (method === "Log.entryAdded" && params.entry.level === "error") problems.push(`an error: ${params.entry.text}`);
    });
    for (const domain of ["Page", "Runtime", "Network", "Log"]) await send(`${domain}.enable`);
    await size(1100);
    await send("Page.navigate", { url: `${url}/` });

    // At a glance, and live without a reload.
    await until(`document.getElementById("verdict")?.textContent.includes(${JSON.stringify(verdict)})`);
    expect(await evaluate(`document.querySelectorAll("#answers tr").length`) === 13, "not every source has its row");
    expect(await evaluate(`document.getElementById("providers").textContent.includes("vendor")`), "no provider");
    await until(`document.getElementById("chart-text").textContent.includes("answers in the last")`);
    const chart = `document.getElementById("chart-text").textContent`;
    if (said) {
        const first = await evaluate(chart);
        expect(first.includes(said), `the chart says: ${first}`);
    } else if (verdict === "All is well") {
        const first = await evaluate(chart);
        await until(`${chart} !== ${JSON.stringify(first)}`);
    }
    for (const id of ["chart", "share", "times"]) {
        const isDrawn = await evaluate(`[...document.querySelectorAll("#${id} path")].some((path) => path.getAttribute("d"))`);
        expect(isDrawn || verdict !== "All is well", `nothing is drawn in ${id}`);
    }
    expect(await evaluate(`document.querySelectorAll("#history tr").length`) === 2, "the charts are not in the table");
    expect(await evaluate(`document.getElementById("connection").textContent`) === "live", "not live");
    expect(!(await evaluate(`document.body.innerText`)).match(/undefined|NaN|null/), "a value that is none");

    // A name is text, whatever it is.
    if (names) {
        await until(`document.getElementById("names").textContent.includes(${JSON.stringify(names)})`);
        expect(await evaluate(`document.querySelectorAll("#names script").length`) === 0, "a name became markup");
    } else {
        expect(await evaluate(`document.getElementById("names").hidden`), "names are shown");
        expect(!(await evaluate(`document.body.innerText`)).includes("example"), "a name is shown");
    }

    // With the keyboard alone: the skip link, the box, a look-up.
    await press("Tab");
    await press("Enter", "Enter", "\r");
    await until(`document.activeElement.id === "lookup"`);
    await press("Tab");
    expect(await evaluate(`document.activeElement.id`) === "name", "the box is not the next stop of the keyboard");
    await send("Input.insertText", { text: "www.example.com" });
    await press("Enter", "Enter", "\r");
    await until(`document.querySelectorAll("#story li").length > 2`);
    expect(await evaluate(`document.querySelector("#story").textContent.includes("answer")`), "the story has no end");
    await shoot("light");

    // What is no name is refused in words, and no text becomes markup.
    await evaluate(`(() => {
        document.getElementById("name").value = "<img src=x onerror=alert(1)>..";
        document.querySelector("#form button").click();
    })()`);
    await until(`document.getElementById("result").textContent === "this is not a name"`);
    problems.splice(0, problems.length, ...problems.filter((text) => !text.includes("status of 400")));
    expect(await evaluate(`document.querySelectorAll("img").length`) === 0, "a text became markup");

    const light = await evaluate(contrast);
    expect(light.least >= 4.5, `contrast ${light.least} in light: ${light.which}`);
    const back = await evaluate(`getComputedStyle(document.body).backgroundColor`);
    await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: "dark" }] });
    expect(await evaluate(`getComputedStyle(document.body).backgroundColor`) !== back, "no dark colours");
    const dark = await evaluate(contrast);
    expect(dark.least >= 4.5, `contrast ${dark.least} in dark: ${dark.which}`);
    await shoot("dark");

    await size(320);
    expect(await evaluate(`document.documentElement.scrollWidth`) <= 320, "a narrow screen must be moved sideways");
    await shoot("narrow");

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
};

use().catch((error) => problems.push(error.message)).then(() => {
    browser.kill("SIGKILL");
    for (const problem of problems) console.log(problem);
    process.exit(problems.length === 0 ? 0 : 1);
});
