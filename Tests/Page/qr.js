"use strict";
// Writes the QR codes of texts as pictures: `node qr.js FOLDER TEXT...`, as FOLDER/0000.pbm and so on.
const { readFileSync, writeFileSync } = require("node:fs");
const { runInThisContext } = require("node:vm");

runInThisContext(readFileSync(`${__dirname}/../../Sources/Admin/Page/qr.js`, "utf8").replace("const qr =", "var qr ="));
const [folder, ...texts] = process.argv.slice(2);
const quiet = 4;
const scale = 4;
texts.forEach((text, number) => {
    const rows = globalThis.qr(text);
    if (!rows) return;
    const size = (rows.length + 2 * quiet) * scale;
    const lines = Array.from({ length: size }, (_, y) => Array.from({ length: size }, (__, x) => {
        const [row, column] = [Math.floor(y / scale) - quiet, Math.floor(x / scale) - quiet];
        return rows[row]?.[column] ? 1 : 0;
    }).join(" "));
    writeFileSync(`${folder}/${String(number).padStart(4, "0")}.pbm`, `P1\n${size} ${size}\n${lines.join("\n")}\n`);
});
