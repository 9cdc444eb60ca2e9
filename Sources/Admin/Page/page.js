"use strict";
(() => {
  // What is well is blue to green, what is not is yellow to red; each colour differs from white and from the dark panel.
  const sources = [
    ["cache", "cached", "#2f6fde"], ["disk", "cached on disk", "#5b8def"], ["shared", "shared cache", "#0e93b8"],
    ["provider", "providers", "#12876f"], ["localdns_verified", "LocalDNS, verified", "#6d8f1f"],
    ["localdns", "LocalDNS, not protected", "#7b8591"], ["forward", "forward servers", "#8a63c9"],
    ["preset", "presets", "#b06ab3"], ["rule", "rules", "#9c7a4d"], ["localdns_unverified", "LocalDNS, not verified", "#b08900"],
    ["stale", "stale", "#d9730d"], ["none", "SERVFAIL", "#d93a3a"],
  ];
  const slots = 120;
  const gutter = 46;
  const none = "–";
  const spans = { hour: [], day: [] };
  const hidden = new Set();
  let span = "hour";
  let cursor = null;
  let report = null;

  const every = (selector) => document.querySelectorAll(selector);
  const $ = (id) => document.getElementById(id);
  const isChinese = navigator.language.startsWith("zh");
  const language = isChinese ? "zh-CN" : "en";
  const silence = "The server does not answer this page";
  // The words for a text, with values in the place of each {}.
  const t = (text, ...values) => ((isChinese && words[text]) || text).replace(/{}/g, () => values.shift());

  const make = (tag, attributes, ...children) => {
    const made = /^(svg|path|text)$/.test(tag)
      ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    if (tag === "svg" && !attributes.role) made.setAttribute("aria-hidden", "true");
    Object.entries(attributes).forEach(([name, value]) => { if (value !== undefined) made.setAttribute(name, value); });
    made.append(...children.flat(3));
    return made;
  };

  // Makes what is there like what was made, and leaves alone what is: focus and selection stay.
  const patch = (old, made) => {
    if (old.isEqualNode(made)) return;
    if (old.nodeName !== made.nodeName || old.nodeType === 3) return old.replaceWith(made);
    for (const { name } of [...old.attributes]) if (!made.hasAttribute(name)) old.removeAttribute(name);
    for (const { name, value } of made.attributes) old.setAttribute(name, value);
    const children = [...made.childNodes];
    children.forEach((child, index) => (old.childNodes[index] ? patch(old.childNodes[index], child) : old.append(child)));
    while (old.childNodes.length > children.length) old.lastChild.remove();
  };

  const show = (id, ...children) => {
    const made = $(id).cloneNode();
    made.append(...children.flat(3));
    patch($(id), made);
  };

  // A head that begins with # is one of numbers. On a narrow screen each row is a card, whose lines have the heads.
  const table = (id, heads, rows, empty) => {
    const kind = (head) => (head.startsWith("#") ? "number" : undefined);
    const title = (head) => t(head.replace("#", ""));
    show(id, rows.length ? [
      make("tr", {}, heads.map((head) => make("th", { scope: "col", class: kind(head) }, title(head)))),
      rows.map((cells) => make("tr", {}, cells.map((cell, index) => make(
        "td", { class: kind(heads[index]), "data-head": title(heads[index]) }, make("div", {}, cell))))),
    ] : make("tr", {}, make("td", {}, empty)));
  };

  const number = (value) => value.toLocaleString(language, { maximumFractionDigits: value < 1 ? 2 : value < 10 ? 1 : 0 });
  const percent = (part, whole) => (whole > 0 ? `${number((part / whole) * 100)} %` : none);
  const sum = (values) => values.reduce((all, value) => all + value, 0);
  const least = (values) => Number(values.toPrecision(2));
  const time = (seconds) => {
    if (seconds === null) return none;
    if (seconds < 0.001) return `${least(seconds * 1e6)} µs`;
    return seconds < 1 ? `${least(seconds * 1000)} ms` : `${least(seconds)} s`;
  };
  const minute = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  const clock = (date) => date.toLocaleTimeString(language, minute);

  // The value that a share of all does not exceed, as far as the bounds of a histogram tell; null where there is none.
  const quantile = (counts, share) => {
    const { bounds } = report;
    let left = sum(counts) * share;
    if (left === 0) return null;
    const found = counts.findIndex((count) => {
      left -= count;
      return left <= 0;
    });
    if (found < 0 || found >= bounds.length) return bounds[bounds.length - 1];
    const low = found > 0 ? bounds[found - 1] : 0;
    return low + (bounds[found] - low) * (1 + left / counts[found]);
  };

  const bar = (from, to, kind = "") => make(
    "svg", { class: `bar ${kind}`, viewBox: "0 0 1 1", preserveAspectRatio: "none" }, make("path", { d: `M${from} 0H${Math.min(1, to)}V1H${from}z` }));
  const key = (fill) => make("svg", { class: "key", viewBox: "0 0 9 9" }, make("path", { d: "M0 0h9v9H0z", fill }));

  // Text with `commands` in it.
  const commands = (text) => text.split("`").map((part, index) => (index % 2 ? make("code", {}, part) : part));
  const mark = (level) => ({ green: "✓ ", amber: "! ", red: "✗ " })[level];
  const state = (word, isGood, ...more) => make(
    "span", { class: isGood ? "green" : "red" }, make("b", {}, mark(isGood ? "green" : "red")), t(word), more);

  // The verdict.

  const verdicts = { green: "Yes", amber: "Yes, with limits", red: "No, not as it should" };
  const showVerdict = ({ verdict: { level, queries, failed, stale, causes } }) => {
    $("state").className = `panel state ${level}`;
    show("verdict", make("b", { "aria-hidden": "true" }, mark(level)), t(verdicts[level]));
    show("traffic", t("{} queries in the last 5 minutes: {} without an answer, {} answered stale", number(queries), number(failed), number(stale)));
    show("causes", causes.map((cause) => make(
      "li", {},
      make("p", { class: cause.level }, make("b", { "aria-hidden": "true" }, mark(cause.level)),
        isChinese && words[cause.key] ? [words[cause.key], make("small", { lang: "en" }, cause.sentence)] : cause.sentence[0].toUpperCase() + cause.sentence.slice(1)),
      make("small", { lang: "en" }, "→ ", commands(cause.remedy)))));
  };

  // Steps: the answers of each source, the same by bucket of their time, the calls. The first seconds of a step are no rate yet.

  const read = (numbers, seconds) => {
    const count = report.answers.length;
    const answers = sources.map(([label]) => numbers[report.answers.findIndex((each) => each.label === label)]);
    // What was not answered at all counts with SERVFAIL.
    answers[sources.length - 1] += numbers[numbers.length - 1];
    return { answers, latencies: numbers.slice(count, -2), calls: numbers[numbers.length - 2], seconds: Math.max(10, seconds) };
  };
  const together = (steps) => ({
    answers: sources.map((_, index) => sum(steps.map((step) => step.answers[index]))),
    latencies: report.bounds_us.concat(0).map((_, index) => sum(steps.map((step) => step.latencies[index]))),
    calls: sum(steps.map((step) => step.calls)), seconds: sum(steps.map((step) => step.seconds)),
  });
  const total = (step) => sum(step.answers);
  const cached = (step) => step.answers[0] / total(step);

  const take = () => {
    for (const [name, held] of Object.entries(spans)) {
      const { steps, current, step_seconds: seconds, elapsed_seconds: elapsed } = report[name];
      held.pop();
      for (let at = 0; at < steps.length; at += current.length) held.push(read(steps.slice(at, at + current.length), seconds));
      held.push(read(current, elapsed));
      held.splice(0, held.length - slots);
    }
  };

  const showFigures = () => {
    const { status } = report;
    const recent = together(spans.hour.slice(-11));
    // Of half a minute to a minute.
    const now = together(spans.hour.slice(-2));
    const share = (label) => percent(recent.answers[sources.findIndex(([each]) => each === label)], total(recent));
    const calls = sum(status.providers.map((each) => each.calls_today));
    const limit = sum(status.providers.map((each) => each.daily_limit));
    const lately = t("last 5 minutes");
    show("figures", [
      ["Queries a second", number(total(now) / now.seconds), t("{} in 5 minutes", number(total(recent)))],
      ["Cached", share("cache"), t("{} entries", number(status.cache.entries))],
      ["Median", time(quantile(recent.latencies, 0.5)), lately], ["95th percentile", time(quantile(recent.latencies, 0.95)), lately],
      ["SERVFAIL", share("none"), t("stale {}", share("stale"))],
      ["Vendor calls today", number(calls), limit ? t("of {}", number(limit)) : t("no limit is set")],
    ].map(([title, value, note]) => make("div", {}, make("dt", {}, t(title)), make("dd", {}, value), make("dd", {}, note))));
  };

  // Charts.

  const round = (value) => {
    const unit = 10 ** Math.floor(Math.log10(value));
    return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((each) => each * unit >= value) * unit;
  };
  const even = (top, text) => [0, top / 2, top].map((value) => [value / top, text(value)]);

  // The instant at which a slot begins.
  const instant = (slot) => {
    const { step_seconds: seconds, elapsed_seconds: elapsed } = report[span];
    return new Date(Date.now() - (elapsed + (slots - 1 - slot) * seconds) * 1000);
  };

  // Draws a chart: marks on the left with their height as a part of all, the time below. `paths` gets functions for the place of
  // a slot and of a height.
  const draw = (id, marks, paths) => {
    const [width, height] = [$(id).clientWidth, $(id).clientHeight];
    const [right, bottom] = [width - gutter, height - 20];
    const x = (slot) => gutter + (slot / slots) * right;
    const y = (part) => bottom - part * (bottom - 8);
    const texts = [];
    let lines = "";
    for (const [part, text] of marks) {
      lines += `M${gutter} ${Math.round(y(part)) + 0.5}H${width}`;
      texts.push(make("text", { x: gutter - 6, y: y(part) + 4, "text-anchor": "end" }, text));
    }
    const seconds = report[span].step_seconds * slots;
    const every = [300, 900, 1800, 3600, 10800, 14400, 21600].find((each) => (each / seconds) * right > 60);
    const begin = instant(0);
    const offset = begin.getTimezoneOffset() * 60000;
    for (let at = Math.ceil((begin - offset) / every / 1000) * every * 1000 + offset; at < Date.now(); at += every * 1000) {
      const place = gutter + ((at - begin) / 1000 / seconds) * right;
      if (place > width - 18) break;
      lines += `M${Math.round(place) + 0.5} ${bottom}v4`;
      texts.push(make("text", { x: place, y: height - 4, "text-anchor": "middle" }, clock(new Date(at))));
    }
    if (total(together(spans[span])) === 0 && id !== "calls") texts.push(make("text", { x: gutter + right / 2, y: bottom / 3, "text-anchor": "middle" }, t("No answers in this time")));
    const line = cursor === null ? [] : [make("path", { class: "cursor", d: `M${x(cursor + 0.5)} 8V${bottom}` })];
    show(id, make("svg", { width, height }, make("path", { class: "axis", d: lines }), paths(x, y), texts, line));
  };

  const columns = (steps, x, from, to) => steps.map((step, index) => {
    const slot = slots - steps.length + index;
    const [low, high] = [from(step, index), to(step, index)].map((height) => height.toFixed(1));
    // With a gap where there is room for one.
    const [left, right] = [x(slot), x(slot + 1) - (x(1) - x(0) > 4 ? 1 : 0)].map((place) => place.toFixed(1));
    return low === high ? "" : `M${left} ${low}H${right}V${high}H${left}z`;
  }).join("");
  // Through the middle of each slot, with gaps where there is no value.
  const curve = (steps, x, height) => {
    let isOn = false;
    return steps.map((step, index) => {
      const wasOn = isOn;
      isOn = total(step) > 0;
      const slot = slots - steps.length + index;
      return isOn ? `${wasOn ? "L" : "M"}${x(slot).toFixed(1)} ${height(step).toFixed(1)}H${x(slot + 1).toFixed(1)}` : "";
    }).join("");
  };

  const showCharts = () => {
    const steps = spans[span];
    const all = together(steps);
    const here = cursor === null ? all : steps[cursor - slots + steps.length] ?? together([read(report[span].current.map(() => 0), 1)]);
    const when = cursor === null ? "" : `${clock(instant(cursor))} · `;
    const visible = sources.map((_, index) => index).filter((index) => !hidden.has(index));
    const rate = (step) => sum(visible.map((index) => step.answers[index])) / step.seconds;
    const top = round(Math.max(0.1, ...steps.map(rate)));
    draw("answers", even(top, number), (x, y) => {
      const tops = steps.map(() => 0);
      return visible.map((index) => {
        const add = (step, place) => { tops[place] += step.answers[index] / step.seconds / top; return y(tops[place]); };
        return make("path", { fill: sources[index][2], d: columns(steps, x, (_, place) => y(tops[place]), add) });
      });
    });
    draw("cached", even(1, (value) => `${value * 100} %`), (x, y) => make("path", { d: columns(steps, x, () => y(0), (step) => y(total(step) ? cached(step) : 0)) }));
    // From 10 microseconds to 3 seconds.
    const place = (seconds) => Math.max(0, Math.log10(seconds / 1e-5) / 5.5);
    draw("latency", [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1].map((value) => [place(value), time(value)]), (x, y) => [0.95, 0.5].map((share) => make(
      "path", { class: share === 0.5 ? "line" : "line most", d: curve(steps, x, (step) => y(place(quantile(step.latencies, share)))) })));
    const perMinute = (step) => (step.calls * 60) / step.seconds;
    const limits = report.status.providers.map((each) => each.daily_limit / 1440 || each.monthly_limit / 43800);
    const budget = limits.every(Boolean) ? sum(limits) : 0;
    const most = Math.max(0.1, ...steps.map(perMinute));
    const ceiling = round(budget < most * 4 ? Math.max(most, budget) : most);
    draw("calls", even(ceiling, number), (x, y) => [
      make("path", { d: columns(steps, x, () => y(0), (step) => y(perMinute(step) / ceiling)) }),
      budget && budget <= ceiling ? make("path", { class: "budget", d: `M${x(0)} ${y(budget / ceiling)}H${x(slots)}` }) : [],
    ]);
    show("answers-now", when, number(rate(here)));
    show("cached-now", when, percent(here.answers[0], total(here)));
    show("latency-now", when, make("i", { class: "median" }, t("median {}", time(quantile(here.latencies, 0.5)))), ` · ${t("95th percentile {}", time(quantile(here.latencies, 0.95)))}`);
    show("calls-now", when, number(perMinute(here)), budget ? ` · ${t("budget {}", number(budget))}` : "");
    const said = [...every(".plot")].map((plot) => plot.parentNode.firstElementChild.innerText.replace("\n", ": "));
    ["cached", "latency", "calls"].forEach((id, index) => { $(id).ariaLabel = said[index + 1]; });
    $("answers").setAttribute("aria-valuenow", cursor ?? slots - 1);
    $("answers").setAttribute("aria-valuetext", said.join("; "));
    // The legend, which is also the filter.
    table("sources", ["Source", "#a second", "#Share", "#Median"], sources.flatMap(([label, text, colour], index) => {
      if (all.answers[index] === 0 && !hidden.has(index)) return [];
      const { counts } = report.answers.find((each) => each.label === label);
      return [[
        make("button", { "data-source": index, "aria-pressed": !hidden.has(index) }, key(colour), make("span", {}, t(text))),
        number(here.answers[index] / here.seconds), percent(here.answers[index], total(here)), time(quantile(counts, 0.5)),
      ]];
    }), t("No answers in this time"));
    for (const each of ["hour", "day"]) $(each).setAttribute("aria-pressed", each === span);
  };

  // Sources.

  const used = (calls, limit, forecast) => make(
    "div", { class: limit ? "meter" : "" },
    limit ? [t("{} of {}", number(calls), number(limit)), bar(0, calls / limit, calls > limit * 0.9 ? "amber" : "")] : number(calls),
    forecast ? make("small", { class: limit && forecast > limit ? "amber" : "" }, make("i", {}, t("forecast {}", number(forecast)))) : []);
  const showProviders = () => table(
    "providers", ["Provider", "State", "#Median", "#95th percentile", "#Calls today", "#This month", "#Billed"],
    report.status.providers.map((provider) => {
      const { addresses } = provider;
      const word = provider.state !== "used" || addresses.some((each) => each.state === "used") ? provider.state : addresses[0]?.state ?? "used";
      const { counts = [] } = report.providers.find((each) => each.label === provider.name) ?? {};
      return [
        [make("strong", {}, provider.name), make("small", {}, provider.type)],
        [state(word, word === "used"), addresses.map((each) => make(
          "small", {}, state("", each.state === "used", each.address, each.response_ms === null ? "" : ` · ${each.response_ms}\u00a0ms`,
            each.state === "used" ? "" : ` · ${t(each.state)} ${each.last_error ? `· ${each.last_error}` : ""}`)))],
        time(quantile(counts, 0.5)), time(quantile(counts, 0.95)),
        used(provider.fleet_today ?? provider.calls_today, provider.daily_limit),
        used(provider.fleet_this_month ?? provider.calls_this_month, provider.monthly_limit, provider.calls_forecast),
        provider.billed_this_month > 0 ? used(provider.billed_this_month, 0, provider.billed_forecast) : none,
      ];
    }), t("No provider is configured: LocalDNS answers every name."));

  const showLocalDNS = ({ status }) => {
    const servers = status.localdns.map((server) => [t("all other names"), server]).concat(
      status.forwards.flatMap((entry) => entry.servers.map((server) => [entry.suffixes.join(", "), server])));
    table("servers", ["Server", "For", "State"], servers.map(([names, server]) => [server.address, names, state(server.state, server.state === "used")]),
      t("No server of LocalDNS is known."));
    show("forged-note", status.forged_checks === 0 ? t("No forged answer was found since the start.")
      : t("{} forged answers were found since the start; clients did not get them.", number(status.forged_checks)));
    $("forged").hidden = status.forged.length === 0;
    table("forged", ["Name", "Address", "Given by", "Certificate", "Last seen", "#Times"], status.forged.map((entry) => [
      entry.name, entry.address, entry.server || none, [entry.reason, entry.subject].filter(Boolean).join(": "),
      new Date(entry.last).toLocaleString(language, { month: "short", day: "numeric", ...minute }), number(entry.count),
    ]), "");
  };

  const showNames = ({ names }) => {
    show("names-note", t(names ? "In the last 10 to 20 minutes. Counts of rare names may be too high."
      : "Not counted: log.queries is false, or control.http is no loopback address."));
    $("names").hidden = !names;
    table("names", ["Name", "#Queries"], (names ?? []).map((each) => [[each.label, bar(0, each.count / names[0].count)], number(each.count)]), none);
  };

  // Dark on light whatever the colours of the page, with the margin that readers need; nothing where a text is too long.
  const code = (text) => {
    const rows = qr(text);
    if (!rows) return [];
    const size = rows.length + 8;
    const dark = rows.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x + 4} ${y + 4}h1v1h-1z` : ""))).join("");
    return make(
      "svg", { class: "code", viewBox: `0 0 ${size} ${size}`, "shape-rendering": "crispEdges", role: "img", "aria-label": t("QR code of {}", text) },
      make("path", { d: `M0 0h${size}v${size}H0z`, fill: "#fff" }), make("path", { d: dark, fill: "#000" }));
  };

  // What clients enter; drawn again only when it has changed.
  let entered = "";
  const showPhones = ({ status: { encrypted, apps } }) => {
    $("phones").hidden = !encrypted;
    $("apps").hidden = !apps;
    if (apps) {
      table("requests", ["Requests", "#Times"], apps.requests.map(({ result, count }) => [t(result), number(count)]));
      table("accounts", ["Account", "#Names today"], apps.accounts.map((each) => [each.id, used(each.names_today, each.daily_limit)]));
    }
    const { name = "", tls_port: port = 0, url = "", addresses = [] } = encrypted ?? {};
    const all = JSON.stringify([name, port, url, addresses]);
    if (!encrypted || all === entered) return;
    entered = all;
    show("phones-note", t(name ? "Enter or scan it. listen.allow must have the client, or the URL a token."
      : "Set listen.name, a name of the certificate, to see what clients enter."));
    show("codes", [["DNS over TLS", port ? name : ""], ["DNS over HTTPS", url]].filter(([, text]) => name && text).map(
      ([title, text]) => make("figure", {}, code(text), make("figcaption", {}, make("strong", {}, title), make("div", {}, text)))));
    const rows = [];
    if (port === 853) rows.push(["Android", "Network & internet, Private DNS", name]);
    if (url) rows.push(["Firefox, Chrome, Edge, Windows 11", "DNS over HTTPS, secure DNS: custom", url]);
    if (port && addresses.length > 0) {
      const suffix = port === 853 ? "" : `:${port}`;
      const servers = addresses.map((each) => `${suffix && each.includes(":") ? `[${each}]` : each}${suffix}#${name}`);
      rows.push(["systemd-resolved", "resolved.conf, with DNSOverTLS=yes", `DNS=${servers.join(" ")}`]);
    }
    rows.push(["iOS, macOS", "the profile that this command prints", "httpdnsd profile ios"]);
    $("systems").hidden = !name;
    table("systems", ["System", "Where", "What to enter"], rows.map(([system, where, text]) => [system, t(where), make("code", {}, text)]), "");
  };

  const showAll = () => {
    report.bounds = report.bounds_us.map((bound) => bound / 1e6);
    take();
    showVerdict(report);
    showFigures();
    showCharts();
    showProviders();
    showLocalDNS(report);
    showNames(report);
    showPhones(report);
    const { status } = report;
    show("footer", t("Version {}, mode {}, up {} h, {} reloads, {}", status.version, status.mode, number(status.uptime_seconds / 3600), status.reloads, status.config));
  };

  const lookUp = async () => {
    const query = new URLSearchParams({ name: $("name").value.trim(), type: $("type").value });
    show("result", "…");
    show("story");
    try {
      const response = await fetch(`/trace?${query}`);
      const found = await response.json();
      if (!response.ok) return show("result", found.error);
      const whole = Math.max(1, ...found.steps.map((step) => step.milliseconds));
      show("result", `${found.name} ${found.type}: ${found.status} · ${whole}\u00a0ms`);
      return show("story", found.steps.map((step, index) => {
        const [from, to] = [step, found.steps[index + 1] ?? step].map((each) => each.milliseconds / whole);
        return make(
          "li", {}, make("span", {}, `${step.milliseconds} ms`), bar(Math.min(from, 0.98), Math.max(from + 0.02, to)),
          make("b", {}, step.kind), make("span", {}, step.text));
      }));
    } catch {
      return show("result", t(silence));
    }
  };

  $("form").onsubmit = (event) => {
    event.preventDefault();
    lookUp();
  };
  document.onclick = ({ target }) => {
    const place = target.closest("[data-source]")?.dataset.source;
    if (place && !hidden.delete(Number(place))) hidden.add(Number(place));
    if (spans[target.id]) span = target.id;
    if (report) showCharts();
  };
  const point = (slot) => {
    cursor = slot === null ? null : Math.max(0, Math.min(slots - 1, slot));
    if (report) showCharts();
  };
  for (const plot of every(".plot")) {
    plot.onpointermove = plot.onpointerdown = ({ clientX }) => {
      const { left, width } = plot.getBoundingClientRect();
      point(Math.floor(((clientX - left - gutter) / (width - gutter)) * slots));
    };
    plot.onpointerleave = () => point(null);
  }
  $("answers").onkeydown = (event) => {
    const at = cursor ?? slots;
    const next = { ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, Home: 0, End: slots - 1, Escape: null }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    point(next);
  };
  window.onresize = () => point(cursor);

  // The words of the document itself.
  document.documentElement.lang = language;
  for (const each of every("h2, h3, p, a, button, label")) each.textContent = t(each.textContent);
  for (const each of every("[aria-label]")) each.ariaLabel = t(each.ariaLabel);

  const events = new EventSource("/events");
  events.onopen = () => {
    show("connection", t("live"));
    // The first event has all steps that the server holds.
    for (const held of Object.values(spans)) held.length = 0;
  };
  events.onerror = () => {
    show("connection", t("no connection: trying again"));
    $("state").className = "panel state red";
    show("verdict", t(silence));
    show("traffic", t("What is shown is of {}.", clock(new Date())));
    show("causes");
  };
  events.onmessage = (event) => {
    report = JSON.parse(event.data);
    showAll();
  };
})();
