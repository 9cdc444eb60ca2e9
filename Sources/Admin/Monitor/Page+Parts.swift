// Written by scripts/page from the files in Page: change those.

/// The monitoring page.
enum Page {
    /// The value of `Content-Security-Policy`: nothing but the style sheet and the scripts in the document runs.
    static let policy =
        "default-src 'none'; style-src 'sha256-dtileS7BqJKGHKfQGY/ViApVEvtmnMhzzZeAI/bM64E='; script-src 'sha256-XCFH/5yXQPPf3+jF6GGRbG7N/YDvfJt4uAFXJsduJJU=' 'sha256-1pgt7QpfKUK5KPAmI8hCzqd1F5qSjK0v/ncD1gX0rZk='; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    /// The document, with all its parts.
    static let document = ###"""
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>httpdnsd</title>
        <link rel="icon" href="data:,">
        <style>:root {
            color-scheme: light dark;
            --back: #ffffff;
            --panel: #f4f5f7;
            --text: #1a1d21;
            --quiet: #565d66;
            --line: #c9cdd3;
            --good: #00664c;
            --bad: #a63c00;
            --link: #0b57a4;
        }
        @media (prefers-color-scheme: dark) {
            :root {
                --back: #15181c;
                --panel: #1f242a;
                --text: #eceef1;
                --quiet: #aab2bd;
                --line: #444c56;
                --good: #4fd0a5;
                --bad: #ffa06b;
                --link: #8ec5ff;
            }
        }
        * { box-sizing: border-box; }
        body {
            margin: 0 auto;
            padding: 0 1rem 2rem;
            max-width: 70rem;
            background: var(--back);
            color: var(--text);
            font: 1rem/1.45 system-ui, sans-serif;
        }
        header { display: flex; align-items: baseline; justify-content: space-between; gap: 1rem; }
        h1 { font-size: 1.3rem; }
        h2 { font-size: 1.05rem; margin: 2rem 0 0.5rem; }
        a { color: var(--link); }
        :focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
        .skip { position: absolute; left: -100rem; }
        .skip:focus { left: 1rem; top: 0.5rem; background: var(--back); padding: 0.5rem; }
        .note, header p, footer { color: var(--quiet); }
        .state { padding: 0.8rem 1rem; background: var(--panel); border-left: 0.5rem solid var(--quiet); }
        .state p { margin: 0; font-size: 1.15rem; font-weight: 600; }
        .state ul { margin: 0.4rem 0 0; padding-left: 1.2rem; }
        .state ul:empty { display: none; }
        .state.good { border-color: var(--good); }
        .state.bad { border-color: var(--bad); }
        .good strong { color: var(--good); }
        .bad strong, .warning { color: var(--bad); }
        .figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: 0.6rem; margin: 1rem 0 0; }
        .figures div { background: var(--panel); padding: 0.6rem 0.8rem; }
        .figures dt { color: var(--quiet); font-size: 0.85rem; }
        .figures dd { margin: 0; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
        svg { display: block; width: 100%; height: 7.5rem; background: var(--panel); }
        svg.low { height: 3.75rem; }
        svg.code { width: 11rem; height: 11rem; background: #ffffff; }
        .codes { display: flex; flex-wrap: wrap; gap: 1.5rem; margin: 0.6rem 0; }
        figure { margin: 0; max-width: 100%; }
        figcaption { max-width: 20rem; overflow-wrap: anywhere; }
        .note + svg { margin-top: 1rem; }
        summary { cursor: pointer; }
        [hidden] { display: none; }
        .scroll { overflow-x: auto; }
        table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
        th, td { text-align: left; padding: 0.3rem 0.8rem 0.3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
        th { font-size: 0.85rem; color: var(--quiet); font-weight: 600; }
        td.number, th.number { text-align: right; }
        .key { display: inline-block; width: 0.8em; height: 0.8em; margin-right: 0.5em; }
        form { display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; }
        input, select, button {
            font: inherit;
            padding: 0.4rem 0.6rem;
            color: var(--text);
            background: var(--panel);
            border: 1px solid var(--quiet);
            border-radius: 0.2rem;
        }
        input { flex: 1 1 12rem; min-width: 0; }
        button { cursor: pointer; font-weight: 600; }
        #story { padding-left: 0; list-style: none; }
        #story li { display: grid; grid-template-columns: 5rem 4.5rem 1fr; gap: 0.6rem; padding: 0.25rem 0; border-bottom: 1px solid var(--line); }
        #story li span:first-child { text-align: right; color: var(--quiet); }
        #story li b { font-weight: 600; }
        #story li span:last-child { overflow-wrap: anywhere; }
        td { overflow-wrap: break-word; }
        footer { margin-top: 2rem; font-size: 0.85rem; }
        @media (max-width: 32rem) {
            #story li { grid-template-columns: 4rem 1fr; }
            #story li span:last-child { grid-column: 1 / -1; }
        }
        </style>
        </head>
        <body>
        <a class="skip" href="#lookup">Look up a name</a>
        <header>
        <h1>httpdnsd</h1>
        <p id="connection" role="status">connecting</p>
        </header>
        <noscript><p class="warning">This page needs JavaScript. <a href="/metrics">The metrics</a> do not.</p></noscript>
        <main>
        <section id="state" aria-live="polite" class="state"><p id="verdict">Waiting for the server</p><ul id="problems"></ul></section>
        <dl id="figures" class="figures"></dl>
        <section>
        <h2 id="answers-title">Answers by source</h2>
        <svg id="chart" preserveAspectRatio="none" role="img" aria-labelledby="chart-text"></svg>
        <p id="chart-text" class="note"></p>
        <div class="scroll" tabindex="0" role="region" aria-labelledby="answers-title"><table id="answers"></table></div>
        </section>
        <section>
        <h2>Answers from memory, and times</h2>
        <svg id="share" class="low" preserveAspectRatio="none" role="img" aria-labelledby="share-text"></svg>
        <p id="share-text" class="note"></p>
        <svg id="times" class="low" preserveAspectRatio="none" role="img" aria-labelledby="times-text"></svg>
        <p id="times-text" class="note"></p>
        <details>
        <summary id="history-title">The charts as a table</summary>
        <div class="scroll" tabindex="0" role="region" aria-labelledby="history-title"><table id="history"></table></div>
        </details>
        </section>
        <section>
        <h2 id="names-title">Names asked for most</h2>
        <p id="names-note" class="note"></p>
        <div class="scroll" tabindex="0" role="region" aria-labelledby="names-title"><table id="names"></table></div>
        </section>
        <section>
        <h2 id="providers-title">Providers</h2>
        <div class="scroll" tabindex="0" role="region" aria-labelledby="providers-title"><table id="providers"></table></div>
        </section>
        <section>
        <h2 id="servers-title">LocalDNS</h2>
        <div class="scroll" tabindex="0" role="region" aria-labelledby="servers-title"><table id="servers"></table></div>
        </section>
        <section>
        <h2 id="forged-title">Forged answers of LocalDNS</h2>
        <p id="forged-note" class="note"></p>
        <div class="scroll" tabindex="0" role="region" aria-labelledby="forged-title"><table id="forged"></table></div>
        </section>
        <section id="encrypted" hidden>
        <h2 id="encrypted-title">Encrypted DNS for other machines</h2>
        <p id="encrypted-note" class="note"></p>
        <div id="codes" class="codes"></div>
        <div class="scroll" tabindex="0" role="region" aria-labelledby="encrypted-title"><table id="systems"></table></div>
        </section>
        <section id="lookup" tabindex="-1">
        <h2>How is a name answered?</h2>
        <form id="form">
        <label for="name">Name</label>
        <input id="name" name="name" required maxlength="255" autocomplete="off" autocapitalize="none" spellcheck="false" placeholder="www.example.com">
        <label for="type">Type</label>
        <select id="type" name="type"><option>A</option><option>AAAA</option><option>HTTPS</option><option>CNAME</option><option>MX</option><option>TXT</option></select>
        <button>Look up</button>
        </form>
        <p id="result" role="status"></p>
        <ol id="story"></ol>
        </section>
        </main>
        <footer id="footer"></footer>
        <script>"use strict";
        // A QR code (ISO/IEC 18004) of a text: its bytes with error correction of level M, in versions 1 to 10, so up to 213 of
        // them. Returns rows of modules, true for dark ones; null when the text is too long.
        const qr = (text) => {
            // For each version: all bytes, those of error correction in a block, blocks, centres of the alignment patterns.
            const versions = [
                [26, 10, 1, []], [44, 16, 1, [6, 18]], [70, 26, 1, [6, 22]], [100, 18, 2, [6, 26]], [134, 24, 2, [6, 30]],
                [172, 16, 4, [6, 34]], [196, 18, 4, [6, 22, 38]], [242, 22, 4, [6, 24, 42]], [292, 22, 5, [6, 26, 46]],
                [346, 26, 5, [6, 28, 50]],
            ];
            const bytes = [...new TextEncoder().encode(text)];
            const lengthBytes = (index) => (index < 9 ? 1 : 2);
            const found = versions.findIndex(
                ([all, check, blocks], index) => bytes.length + 1 + lengthBytes(index) <= all - check * blocks);
            if (found < 0) return null;
            const [all, check, blocks, centres] = versions[found];
            const version = found + 1;
            const size = 17 + 4 * version;

            // The field of 256 elements by x^8 + x^4 + x^3 + x^2 + 1.
            const power = [1];
            while (power.length < 255) {
                const next = power[power.length - 1] << 1;
                power.push(next > 255 ? next ^ 0x11d : next);
            }
            const logarithm = new Map(power.map((value, exponent) => [value, exponent]));
            const product = (one, other) => (
                one && other ? power[(logarithm.get(one) + logarithm.get(other)) % 255] : 0);

            // The polynomial with the roots 2^0 to 2^(check - 1), without its leading 1.
            let generator = [1];
            for (let root = 0; root < check; root += 1) {
                const longer = [...generator, 0];
                generator.forEach((value, index) => { longer[index + 1] ^= product(value, power[root]); });
                generator = longer;
            }
            const correction = (data) => {
                const rest = new Array(check).fill(0);
                for (const value of data) {
                    const factor = value ^ rest.shift();
                    rest.push(0);
                    for (let index = 0; index < check; index += 1) rest[index] ^= product(generator[index + 1], factor);
                }
                return rest;
            };

            // Mode "bytes", the length, the bytes, an end; then filling.
            const halves = (value) => [value >> 4, value & 15];
            const length = lengthBytes(found) === 1 ? halves(bytes.length) : [0, 0, ...halves(bytes.length)];
            const nibbles = [4, ...length, ...bytes.flatMap(halves), 0];
            const room = all - check * blocks;
            const data = [];
            for (let index = 0; index < nibbles.length; index += 2) data.push((nibbles[index] << 4) | nibbles[index + 1]);
            for (let filling = 0xec; data.length < room; filling ^= 0xec ^ 0x11) data.push(filling);

            // The later blocks are one byte longer where they cannot all be as long. Their bytes are interleaved.
            const short = Math.floor(room / blocks);
            let taken = 0;
            const parts = Array.from({ length: blocks }, (_, index) => {
                const count = short + (index >= blocks - (room % blocks) ? 1 : 0);
                taken += count;
                return data.slice(taken - count, taken);
            });
            const interleaved = (lists, count) => Array.from(
                { length: count }, (_, index) => lists.filter((list) => index < list.length).map((list) => list[index])).flat();
            const stream = [...interleaved(parts, short + 1), ...interleaved(parts.map(correction), check)];

            // Patterns: undefined where data goes.
            const modules = Array.from({ length: size }, () => new Array(size).fill(undefined));
            const set = (x, y, isDark) => { if (modules[y] && x >= 0 && x < size) modules[y][x] = isDark; };
            const rings = (centreX, centreY, radius, light) => {
                for (let y = -radius; y <= radius; y += 1) {
                    for (let x = -radius; x <= radius; x += 1) {
                        set(centreX + x, centreY + y, !light.includes(Math.max(Math.abs(x), Math.abs(y))));
                    }
                }
            };
            for (let index = 0; index < size; index += 1) {
                set(6, index, index % 2 === 0);
                set(index, 6, index % 2 === 0);
            }
            for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]]) rings(x, y, 4, [2, 4]);
            const last = centres[centres.length - 1];
            for (const x of centres) {
                for (const y of centres) {
                    const isCorner = (x === 6 && y === 6) || (x === 6 && y === last) || (x === last && y === 6);
                    if (!isCorner) rings(x, y, 2, [1]);
                }
            }
            // A number with its remainder by a polynomial, as the standard's codes of format and version are made.
            const coded = (value, bits, polynomial) => {
                let rest = value << bits;
                for (let bit = 31; bit >= bits; bit -= 1) if ((rest >>> bit) & 1) rest ^= polynomial << (bit - bits);
                return (value << bits) | rest;
            };
            const format = (mask) => {
                // Level M is 0.
                const code = coded(mask, 10, 0x537) ^ 0x5412;
                const bit = (index) => ((code >> index) & 1) === 1;
                for (let index = 0; index < 15; index += 1) {
                    if (index < 8) set(8, index < 6 ? index : index + 1, bit(index));
                    else set(index === 8 ? 7 : 14 - index, 8, bit(index));
                    if (index < 8) set(size - 1 - index, 8, bit(index));
                    else set(8, size - 15 + index, bit(index));
                }
                set(8, size - 8, true);
            };
            format(0);
            if (version >= 7) {
                const code = coded(version, 12, 0x1f25);
                for (let index = 0; index < 18; index += 1) {
                    const [far, near] = [size - 11 + (index % 3), Math.floor(index / 3)];
                    set(far, near, ((code >> index) & 1) === 1);
                    set(near, far, ((code >> index) & 1) === 1);
                }
            }

            // Where data goes: in columns of two from the right, upwards and downwards in turn, not through the timing pattern.
            const places = [];
            for (let right = size - 1, isUp = true; right > 0; right -= 2, isUp = !isUp) {
                if (right === 6) right = 5;
                for (let step = 0; step < size; step += 1) {
                    const y = isUp ? size - 1 - step : step;
                    for (const x of [right, right - 1]) if (modules[y][x] === undefined) places.push([x, y]);
                }
            }
            const masks = [
                (x, y) => (x + y) % 2, (x, y) => y % 2, (x) => x % 3, (x, y) => (x + y) % 3,
                (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2, (x, y) => ((x * y) % 2) + ((x * y) % 3),
                (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2, (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2,
            ];
            const drawn = masks.map((mask, number) => {
                format(number);
                places.forEach(([x, y], index) => {
                    const isSet = ((stream[index >> 3] ?? 0) >> (7 - (index & 7))) & 1;
                    modules[y][x] = (isSet === 1) !== (mask(x, y) === 0);
                });
                return modules.map((row) => [...row]);
            });
            // What readers stumble over: long runs of one colour, squares of one colour, what looks like a finder pattern.
            const penalty = (rows) => {
                const columns = rows.map((_, x) => rows.map((row) => row[x]));
                let points = 0;
                for (const line of [...rows, ...columns]) {
                    const line01 = line.map(Number).join("");
                    for (const run of line01.match(/0{5,}|1{5,}/g) ?? []) points += run.length - 2;
                    points += 40 * (line01.match(/(?=00001011101|10111010000)/g) ?? []).length;
                }
                for (let y = 1; y < size; y += 1) {
                    for (let x = 1; x < size; x += 1) {
                        const count = rows[y][x] + rows[y - 1][x] + rows[y][x - 1] + rows[y - 1][x - 1];
                        if (count % 4 === 0) points += 3;
                    }
                }
                return points;
            };
            const points = drawn.map(penalty);
            return drawn[points.indexOf(Math.min(...points))];
        };
        </script>
        <script>"use strict";
        (() => {
            // The palette of Okabe and Ito, which people with any colour vision tell apart; each has its name beside it.
            const sources = [
                ["cache", "from memory", "#0072b2"],
                ["disk", "from the cache file", "#56b4e9"],
                ["provider", "from a provider", "#009e73"],
                ["shared", "from the shared cache", "#66c2a5"],
                ["localdns_verified", "LocalDNS, verified by certificates", "#b6d957"],
                ["localdns", "LocalDNS, of names not protected", "#999999"],
                ["forward", "from forward servers", "#cc79a7"],
                ["preset", "presets", "#7f6fb0"],
                ["rule", "made here", "#c9a66b"],
                ["localdns_unverified", "LocalDNS, not verified", "#f0e442"],
                ["stale", "past their TTL", "#e69f00"],
                ["none", "no answer (SERVFAIL)", "#d55e00"],
            ];
            const interval = 2;
            // An hour of steps of 10 seconds, with the one that has not ended.
            const columns = 360;
            // A chart is at least this wide: ten minutes.
            const narrowest = 60;
            const ages = 12;
            const colours = { memory: "#0072b2", half: "#0072b2", most: "#d55e00" };
            const history = [];
            let previous = null;

            const byId = (id) => document.getElementById(id);

            const element = (name, text, className) => {
                const made = document.createElement(name);
                if (text !== undefined) made.textContent = text;
                if (className) made.className = className;
                return made;
            };

            const table = (id, heads, rows, empty) => {
                const target = byId(id);
                if (rows.length === 0) {
                    const row = element("tr");
                    row.append(element("td", empty));
                    return target.replaceChildren(row);
                }
                const head = element("tr");
                for (const title of heads) {
                    const cell = element("th", title.replace(/^#/, ""), title.startsWith("#") ? "number" : "");
                    cell.scope = "col";
                    head.append(cell);
                }
                const body = rows.map((cells) => {
                    const row = element("tr");
                    cells.forEach((cell, index) => {
                        const made = element("td", undefined, heads[index].startsWith("#") ? "number" : "");
                        made.append(cell instanceof Node ? cell : String(cell));
                        row.append(made);
                    });
                    return row;
                });
                target.replaceChildren(head, ...body);
            };

            const state = (isGood, text) => {
                const made = element("span", undefined, isGood ? "good" : "bad");
                made.append(element("strong", isGood ? "\u2713 " : "\u2717 "), text);
                return made;
            };

            const number = (value) => value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 1 : 0 });
            const percent = (part, whole) => (whole > 0 ? `${number((part / whole) * 100)} %` : "\u2013");

            const span = (seconds) => {
                if (seconds < 0.001) return `${Math.round(seconds * 1e6)} \u00b5s`;
                return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${number(seconds)} s`;
            };

            const sum = (values) => values.reduce((all, value) => all + value, 0);

            // The bucket in which the value is that a share of all does not exceed; -1 where there is none.
            const bucket = (counts, share) => {
                const all = sum(counts);
                let passed = 0;
                return all === 0 ? -1 : counts.findIndex((count) => {
                    passed += count;
                    return passed >= all * share;
                });
            };

            // Its upper bound, in words.
            const quantile = (bounds, counts, share) => {
                const found = bucket(counts, share);
                if (found < 0) return "\u2013";
                return found < bounds.length ? span(bounds[found]) : `> ${span(bounds[bounds.length - 1])}`;
            };

            const total = (histogram) => sum(histogram.counts);

            const showState = (report) => {
                const { status } = report;
                const problems = [];
                const usable = status.providers.filter(
                    (provider) => provider.state === "used" && provider.addresses.some((address) => address.state === "used"));
                if (status.switch !== "on") problems.push("HTTPDNS is switched off: names go to LocalDNS.");
                for (const provider of status.providers) {
                    if (!usable.includes(provider)) problems.push(`Provider ${provider.name} cannot be asked (${provider.state}).`);
                }
                for (const server of status.localdns) {
                    if (server.state !== "used") problems.push(`LocalDNS ${server.address}: ${server.state}.`);
                }
                if (status.portal) problems.push(`A captive portal at ${status.portal} answers for unrelated names.`);
                if (status.interception) problems.push("This network intercepts TLS.");
                if (status.clock) problems.push(`The clock of this machine ${status.clock}.`);
                if (status.cache.file_error) problems.push(`The cache file is not used: ${status.cache.file_error}.`);
                const isReady = report.unready === "";
                byId("state").className = `state ${isReady && problems.length === 0 ? "good" : "bad"}`;
                let verdict = `It does not work: ${report.unready}`;
                if (isReady) verdict = problems.length === 0 ? "All is well" : "It works, with limits";
                const text = `${isReady ? "\u2713" : "\u2717"} ${verdict}`;
                if (byId("verdict").textContent !== text) byId("verdict").textContent = text;
                byId("problems").replaceChildren(...problems.map((problem) => element("li", problem)));
            };

            const showFigures = (report, rates, seconds) => {
                const { status } = report;
                const all = sum(report.answers.map(total));
                const count = (label) => total(report.answers.find((each) => each.label === label));
                const rate = rates ? sum(rates) / seconds : null;
                const figures = [
                    ["Answers a second", rate === null ? "\u2013" : number(rate)],
                    ["From memory", percent(count("cache"), all)],
                    ["No answer", percent(count("none"), all)],
                    ["Past their TTL", percent(count("stale"), all)],
                    ["Entries cached", number(status.cache.entries)],
                    ["Forged answers found", number(status.forged_checks)],
                    ["Calls today", number(sum(status.providers.map((provider) => provider.calls_today)))],
                ];
                byId("figures").replaceChildren(...figures.map(([title, value]) => {
                    const made = element("div");
                    made.append(element("dt", title), element("dd", value));
                    return made;
                }));
            };

            const showAnswers = (report) => {
                const rows = sources.map(([label, text, colour]) => {
                    const each = report.answers.find((answer) => answer.label === label);
                    const key = element("span", undefined, "key");
                    key.style.backgroundColor = colour;
                    const name = element("span");
                    name.append(key, text);
                    return [
                        name, number(total(each)), quantile(report.bounds, each.counts, 0.5),
                        quantile(report.bounds, each.counts, 0.95),
                    ];
                });
                table("answers", ["Source", "#Since the start", "#Half within", "#95 % within"], rows, "");
            };

            const answered = (step) => sum(step.answers);
            const answersOf = (step, label) => step.answers[sources.findIndex(([name]) => name === label)];

            const together = (steps) => ({
                answers: sources.map((_, index) => sum(steps.map((step) => step.answers[index]))),
                latencies: steps[0].latencies.map((_, index) => sum(steps.map((step) => step.latencies[index]))),
            });

            const lately = (seconds) => {
                const minutes = Math.max(1, Math.round(seconds / 60));
                return minutes === 1 ? "the last minute" : `the last ${minutes} minutes`;
            };

            const path = (colour, data) => {
                const made = document.createElementNS("http://www.w3.org/2000/svg", "path");
                made.setAttribute("fill", colour);
                made.setAttribute("d", data);
                return made;
            };

            const width = (steps) => Math.max(narrowest, steps.length);

            const draw = (id, steps, height, paths) => {
                byId(id).setAttribute("viewBox", `0 0 ${width(steps)} ${height}`);
                byId(id).replaceChildren(...paths);
            };

            // A path of one rectangle for each column where `place` gives top and height.
            const columnsPath = (steps, colour, place) => path(colour, steps.map((step, index) => {
                const found = answered(step) > 0 ? place(step, index) : null;
                if (!found) return "";
                const [top, height] = found.map((value) => value.toFixed(2));
                return `M${width(steps) - steps.length + index} ${top}h0.9v${height}h-0.9z`;
            }).join(""));

            const drawAnswers = (steps, seconds) => {
                const sums = steps.map(answered);
                const most = Math.max(1, ...sums);
                const tops = steps.map(() => 120);
                draw("chart", steps, 120, sources.map(([, , colour], source) => columnsPath(steps, colour, (step, index) => {
                    const height = (step.answers[source] / most) * 116;
                    tops[index] -= height;
                    return height > 0 ? [tops[index], height] : null;
                })));
                byId("chart-text").textContent = `${number(sum(sums))} answers in ${lately(steps.length * seconds)}; `
                    + `at most ${number(most / seconds)} a second.`;
            };

            const drawShare = (steps, all) => {
                const share = (step) => answersOf(step, "cache") / answered(step);
                draw("share", steps, 60, [columnsPath(steps, colours.memory, (step) => [56 - share(step) * 54, 3])]);
                const least = Math.min(...steps.filter((step) => answered(step) > 0).map(share));
                byId("share-text").textContent = answered(all) === 0
                    ? "From memory: no answer yet."
                    : `From memory: ${percent(share(all), 1)} of the answers; in the worst 10 seconds ${percent(least, 1)}.`;
            };

            const drawTimes = (steps, all, bounds) => {
                const line = (share, colour) => columnsPath(
                    steps, colour, (step) => [54 - (bucket(step.latencies, share) / bounds.length) * 52, 3]);
                draw("times", steps, 60, [line(0.95, colours.most), line(0.5, colours.half)]);
                const key = (colour, text) => {
                    const made = element("span", undefined, "key");
                    made.style.backgroundColor = colour;
                    return [made, text];
                };
                byId("times-text").replaceChildren(
                    ...key(colours.half, `Half of the answers within ${quantile(bounds, all.latencies, 0.5)}; `),
                    ...key(colours.most, `95 % within ${quantile(bounds, all.latencies, 0.95)}. Twice the time is one step higher.`));
            };

            // The same in words: five minutes a row.
            const showHistory = (steps, seconds, bounds) => {
                const size = columns / ages;
                const rows = [];
                for (let age = 0; age < ages; age += 1) {
                    const end = steps.length - age * size;
                    if (end <= 0) break;
                    const part = steps.slice(Math.max(0, end - size), end);
                    const all = together(part);
                    const minutes = (size * seconds) / 60;
                    rows.push([
                        `${age * minutes} to ${(age + 1) * minutes} minutes ago`, number(answered(all)),
                        percent(answersOf(all, "cache"), answered(all)), percent(answersOf(all, "none"), answered(all)),
                        quantile(bounds, all.latencies, 0.5), quantile(bounds, all.latencies, 0.95),
                    ]);
                }
                table("history", ["When", "#Answers", "#From memory", "#No answer", "#Half within", "#95 % within"], rows, "");
            };

            const showCharts = (report) => {
                // In the order of the sources here.
                const order = sources.map(([label]) => report.answers.findIndex((each) => each.label === label));
                const ordered = (step) => ({ ...step, answers: order.map((place) => step.answers[place]) });
                history.push(...report.steps.map(ordered));
                history.splice(0, Math.max(0, history.length - columns + 1));
                const steps = history.concat([ordered(report.current)]);
                const all = together(steps);
                drawAnswers(steps, report.step_seconds);
                drawShare(steps, all);
                drawTimes(steps, all, report.bounds);
                showHistory(steps, report.step_seconds, report.bounds);
            };

            const showNames = ({ names }) => {
                byId("names-note").textContent = names
                    ? "In the last 10 to 20 minutes. Counts of rare names may be too high."
                    : "Not shown: the server counts names where log.queries is true and control.http is a loopback address.";
                byId("names").hidden = !names;
                table("names", ["Name", "#Queries"], (names ?? []).map((each) => [each.label, number(each.count)]), "None");
            };

            const showProviders = (report) => {
                const rows = report.status.providers.map((provider) => {
                    const latencies = report.providers.find((each) => each.label === provider.name);
                    const addresses = element("span");
                    provider.addresses.forEach((address) => {
                        const line = element("div");
                        const time = address.response_ms === null ? "" : `, ${address.response_ms} ms`;
                        line.append(state(address.state === "used", `${address.address}: ${address.state}${time}`));
                        if (address.state !== "used" && address.last_error) line.append(` (${address.last_error})`);
                        addresses.append(line);
                    });
                    const limit = provider.daily_limit > 0 ? ` of ${number(provider.daily_limit)}` : "";
                    return [
                        provider.name, state(provider.state === "used", provider.state), addresses,
                        latencies ? quantile(report.bounds, latencies.counts, 0.5) : "\u2013",
                        latencies ? quantile(report.bounds, latencies.counts, 0.95) : "\u2013",
                        number(provider.calls_today) + limit,
                        number(provider.calls_this_month) + (provider.monthly_limit > 0 ? ` of ${number(provider.monthly_limit)}` : ""),
                        provider.billed_this_month > 0 ? number(provider.billed_this_month) : "\u2013",
                    ];
                });
                table("providers", ["Name", "State", "Addresses", "#Half within", "#95 % within", "#Calls today", "#This month", "#Billed this month"], rows, "There is no provider.");
            };

            const showServers = (report) => {
                const { status } = report;
                const servers = status.localdns.map((server) => ["LocalDNS", server]).concat(
                    status.forwards.flatMap((entry) => entry.servers.map((server) => [entry.suffixes.join(", "), server])));
                const rows = servers.map(([names, server]) => [server.address, names, state(server.state === "used", server.state)]);
                table("servers", ["Address", "For", "State"], rows, "There is no LocalDNS.");
            };

            const showForged = (report) => {
                const { status } = report;
                byId("forged-note").textContent = status.forged_checks === 0 && status.forged.length === 0
                    ? "None was found: no client needed protection from LocalDNS since the start."
                    : `${number(status.forged_checks)} found since the start; clients did not get these addresses.`;
                const rows = status.forged.map((entry) => [
                    entry.name, entry.address, entry.server || "not known",
                    [entry.reason, entry.subject].filter(Boolean).join(": "), entry.last, number(entry.count),
                ]);
                table("forged", ["Name", "Address", "Given by", "Certificate", "Last seen", "#Times"], rows, "None");
            };

            // Dark on light whatever the colours of the page, with the margin that readers need; nothing where a text is too long.
            const code = (text) => {
                const rows = qr(text);
                if (!rows) return [];
                const size = rows.length + 8;
                const made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
                made.setAttribute("class", "code");
                made.setAttribute("viewBox", `0 0 ${size} ${size}`);
                made.setAttribute("shape-rendering", "crispEdges");
                made.setAttribute("role", "img");
                made.setAttribute("aria-label", `QR code of ${text}`);
                const squares = rows.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x + 4} ${y + 4}h1v1h-1z` : "")));
                made.append(path("#ffffff", `M0 0h${size}v${size}h-${size}z`), path("#000000", squares.join("")));
                return [made];
            };

            // What clients enter; drawn again only when it has changed.
            let entered = "";
            const showEncrypted = ({ status: { encrypted } }) => {
                byId("encrypted").hidden = !encrypted;
                const { name = "", tls_port: port = 0, url = "", template = "", addresses = [] } = encrypted ?? {};
                const all = JSON.stringify([name, port, url, addresses]);
                if (!encrypted || all === entered) return;
                entered = all;
                byId("encrypted-note").textContent = name
                    ? "Enter the name or the URL, or scan it. The network of the client must be in listen.allow, or the URL have a token."
                    : "Write listen.name, a name of the certificate, and this shows what clients enter.";
                const codes = [["DNS over TLS", port ? name : ""], ["DNS over HTTPS", url]].filter(([, text]) => name && text);
                byId("codes").replaceChildren(...codes.map(([title, text]) => {
                    const made = element("figure");
                    const caption = element("figcaption");
                    caption.append(element("strong", title), element("br"), text);
                    made.append(...code(text), caption);
                    return made;
                }));
                const rows = [];
                if (port === 853) rows.push(["Android", "Settings, Network & internet, Private DNS", name]);
                if (port && addresses.length > 0) {
                    const suffix = port === 853 ? "" : `:${port}`;
                    const servers = addresses.map((each) => `${suffix && each.includes(":") ? `[${each}]` : each}${suffix}#${name}`);
                    rows.push(["systemd-resolved", "resolved.conf, with DNSOverTLS=yes", `DNS=${servers.join(" ")}`]);
                }
                if (url) {
                    rows.push(["Firefox", "Settings, Privacy & Security, DNS over HTTPS, Max Protection, Custom", url]);
                    rows.push(["Chrome, Edge", "Settings, Privacy and security, Security, Use secure DNS", template]);
                    rows.push(["Windows 11", "Settings, Network & internet, DNS server assignment, DNS over HTTPS: manual template", template]);
                }
                rows.push(["iOS, macOS", "the configuration profile that this command prints", "httpdnsd profile ios"]);
                byId("systems").hidden = !name;
                table("systems", ["System", "Where", "What to enter"], rows, "");
            };

            const show = (report) => {
                report.bounds = report.bounds_us.map((bound) => bound / 1e6);
                const counts = sources.map(([label]) => total(report.answers.find((each) => each.label === label)));
                let rates = null;
                const seconds = previous ? Math.max(1, report.status.uptime_seconds - previous.uptime) : interval;
                if (previous && report.status.pid === previous.pid) {
                    rates = counts.map((count, index) => Math.max(0, count - previous.counts[index]));
                }
                previous = { counts, pid: report.status.pid, uptime: report.status.uptime_seconds };
                showState(report);
                showFigures(report, rates, seconds);
                showAnswers(report);
                showCharts(report);
                showNames(report);
                showProviders(report);
                showServers(report);
                showForged(report);
                showEncrypted(report);
                const { status } = report;
                byId("footer").textContent = `Version ${status.version}, mode ${status.mode}, up ${number(status.uptime_seconds / 3600)} h, `
                    + `${status.reloads} reloads, generation ${status.generation}, ${status.config}`;
            };

            const lookUp = async () => {
                const query = new URLSearchParams({ name: byId("name").value.trim(), type: byId("type").value });
                byId("result").textContent = "Looking up";
                byId("story").replaceChildren();
                try {
                    const response = await fetch(`/trace?${query}`);
                    const report = await response.json();
                    if (!response.ok) {
                        byId("result").textContent = report.error;
                        return;
                    }
                    byId("result").textContent = `${report.name} ${report.type}: ${report.status}`;
                    byId("story").replaceChildren(...report.steps.map((step) => {
                        const line = element("li");
                        line.append(element("span", `${step.milliseconds} ms`), element("b", step.kind), element("span", step.text));
                        return line;
                    }));
                } catch (error) {
                    byId("result").textContent = `The server does not answer: ${error.message}`;
                }
            };

            byId("form").addEventListener("submit", (event) => {
                event.preventDefault();
                lookUp();
            });

            const events = new EventSource("/events");
            events.addEventListener("open", () => {
                byId("connection").textContent = "live";
                // The first event has all steps that the server holds.
                history.length = 0;
            });
            events.addEventListener("error", () => { byId("connection").textContent = "no connection: trying again"; });
            events.addEventListener("message", (event) => show(JSON.parse(event.data)));
        })();
        </script>
        </body>
        </html>

        """###
}
