"use strict";
// Shows the files of the page with made-up figures, in each state of a server, at three widths, in both colours and languages;
// looks for what is cut or cannot be read, and prints it.
//
//   node pictures.js FOLDER [AXE]
//
// FOLDER gets a picture of each, and page.png and page-phone.png for the documentation; AXE is axe-core's script, whose rules are asked then. Exit status 0: nothing is wrong.
const { createServer } = require("node:http");
const { readFileSync } = require("node:fs");
const { runInNewContext } = require("node:vm");
const { browse, flaws } = require("./browser.js");
const { feed, trace, states } = require("./feed.js");

const [folder, axe] = process.argv.slice(2);
const part = (name) => readFileSync(`${__dirname}/../../Sources/Admin/Page/${name}`, "utf8");
const types = { css: "text/css", js: "text/javascript" };

const server = createServer((request, response) => {
  const state = new URL(request.headers.referer ?? `http://localhost${request.url}`).searchParams.get("state");
  if (request.url.startsWith("/events")) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`data: ${JSON.stringify(feed(state))}\n\n`);
  } else if (request.url.startsWith("/trace")) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(trace));
  } else {
    const name = request.url.startsWith("/?") ? "page.html" : request.url.slice(1);
    response.writeHead(200, { "content-type": `${types[name.split(".")[1]] ?? "text/html"}; charset=utf-8` });
    response.end(part(name));
  }
});

server.listen(0, "127.0.0.1", () => browse(folder, async (tab) => {
  const url = `http://127.0.0.1:${server.address().port}`;
  // Where it is about half past two in the afternoon, as in the figures.
  const ahead = 14 - new Date().getUTCHours();
  await tab.send("Emulation.setTimezoneOverride", { timezoneId: `Etc/GMT${ahead > 0 ? "-" : "+"}${Math.abs(ahead)}` });
  const look = async (name) => {
    for (const flaw of await tab.evaluate(flaws)) tab.expect(false, `${name}: ${flaw}`);
    if (axe) {
      await tab.evaluate(`${readFileSync(axe, "utf8")}; 0`);
      const found = await tab.evaluate(`axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations.map(
        (each) => each.id + ": " + each.nodes.map((node) => node.html.slice(0, 120)).slice(0, 3).join(" | ")))`);
      for (const rule of found) tab.expect(false, `${name}: axe ${rule}`);
    }
    await tab.shoot(name);
  };
  // Those of the documentation.
  await tab.language("en");
  for (const [name, width, height, scale] of [["page", 1280, 1300, 1], ["page-phone", 390, 1240, 2]]) {
    await tab.size(width, height, scale);
    await tab.go(`${url}/?state=well`);
    await tab.until(`document.querySelectorAll("#figures dd").length > 0`);
    await tab.evaluate(`document.getElementById("day").click()`);
    await tab.shoot(name, false);
  }
  // Each head, label and button has its Chinese word, and no word is left over.
  const scripts = `${part("page.html")}${part("page.js")}${readFileSync(`${__dirname}/feed.js`, "utf8")}`;
  for (const word of Object.keys(runInNewContext(`${part("words.js")}; words`))) {
    tab.expect(/^[a-z]+\.[a-z]+$/.test(word) || scripts.includes(word), `a word that the page does not use: ${word}`);
  }
  const english = `[...document.querySelectorAll("h2, h3, th, dt, label, button, .note, #connection, #verdict, #traffic, #footer, #sources td:first-child, #answers-now")]
    .map((each) => each.textContent).filter((text) => /[a-z]{3}/i.test(text) && !/[\\u4e00-\\u9fff]/.test(text) && text !== "SERVFAIL")`;
  for (const language of ["en", "zh-CN"]) {
    await tab.language(language);
    for (const state of states) {
      for (const width of [390, 768, 1280]) {
        await tab.size(width, 900, width < 500 ? 2 : 1);
        for (const scheme of ["light", "dark"]) {
          await tab.colours(scheme);
          await tab.go(`${url}/?state=${state}`);
          await tab.until(`document.querySelectorAll("#figures dd").length > 0 && document.readyState === "complete"`);
          await tab.evaluate(`document.getElementById("name").value = "shop.example.com"; document.querySelector("form button").click()`);
          await tab.until(`document.querySelectorAll("#story li").length > 2`);
          await look([state, width, scheme, language].join("-"));
          if (language !== "en") for (const text of await tab.evaluate(english)) tab.expect(false, `not in Chinese: ${text}`);
        }
      }
    }
  }
}));
