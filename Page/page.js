"use strict";
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
