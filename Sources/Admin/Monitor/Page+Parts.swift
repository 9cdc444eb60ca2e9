// Written by scripts/page from the files in Page: change those.

/// The monitoring page.
enum Page {
    /// The value of `Content-Security-Policy`: nothing but the style sheet and the scripts in the document runs.
    static let policy =
        "default-src 'none'; style-src 'sha256-KXTeTV9LHS5WJT69VIxznD+vxgfDB7Bf937HIE1bBJw='; script-src 'sha256-WyMjMc0w+JHrXhJc/cDckkzN9ADHAJkQZKzTwk9bhUA=' 'sha256-sbTU4/DrjhpkGpQvjZpkCZtpuN1FSGFJrL5NihP8e1I=' 'sha256-1jpz1O1p4TDduKOLXbCBp6jzluMvIOOectxqoyqV374='; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

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
        --back: #f4f6f8;
        --panel: #fff;
        --text: #14181d;
        --quiet: #56606b;
        --line: #dfe3e8;
        --edge: #7d8792;
        --accent: #1d5fd1;
        --green: #08704a;
        --amber: #8a5300;
        --red: #b3261e;
        }
        @media (prefers-color-scheme: dark) {
        :root {
        --back: #0f1317;
        --panel: #181d23;
        --text: #e9ecf0;
        --quiet: #a3adb9;
        --line: #2d343d;
        --edge: #76818d;
        --accent: #7eacff;
        --green: #48c78e;
        --amber: #e6ae45;
        --red: #ff8a7d;
        }
        }
        * { box-sizing: border-box; margin: 0; padding: 0; }
        body {
        margin: 0 auto;
        padding: 1rem;
        max-width: 76rem;
        background: var(--back);
        color: var(--text);
        font: 0.9375rem/1.5 system-ui, sans-serif;
        font-variant-numeric: tabular-nums;
        overflow-wrap: break-word;
        }
        h1 { font-size: 1.125rem; }
        h2 { font-size: 1rem; }
        h3 { font-size: 0.875rem; }
        i { font-style: normal; }
        a, .median { color: var(--accent); }
        :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
        .skip { position: absolute; left: -100rem; }
        .skip:focus { left: 1rem; top: 0.5rem; background: var(--panel); }
        header, .head, figcaption { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: 0 1rem; }
        section, footer { margin-top: 1.75rem; }
        section > h2, .head { margin-bottom: 0.625rem; }
        .panel, .figures div { padding: 0.75rem 1rem; background: var(--panel); border: 1px solid var(--line); border-radius: 0.5rem; }
        header p, figcaption span, dt, dd, th, footer, small, .note, .state h2 { color: var(--quiet); font-size: 0.8125rem; }
        .state { margin-top: 0.75rem; border-left: 0.375rem solid var(--mark, var(--edge)); }
        .state h2 { margin: 0; }
        #verdict { font-size: 1.375rem; font-weight: 650; line-height: 1.3; }
        small { display: block; font-weight: 400; overflow-wrap: anywhere; }
        ul, ol { list-style: none; }
        #causes li { margin-top: 0.625rem; padding-top: 0.625rem; border-top: 1px solid var(--line); }
        code { font: 0.8125rem/1.4 ui-monospace, monospace; padding: 0.0625rem 0.25rem; background: var(--back); border-radius: 0.25rem; overflow-wrap: anywhere; user-select: all; }
        .green { --mark: var(--green); }
        .amber { --mark: var(--amber); }
        .red { --mark: var(--red); }
        b, .amber > i { color: var(--mark); }
        .figures, .charts, .who { display: grid; grid-template-columns: repeat(6, 1fr); gap: 0.75rem; margin-top: 0.75rem; }
        dt + dd { color: var(--text); font-size: 1.5rem; font-weight: 600; line-height: 1.25; }
        .charts { grid-template-columns: repeat(3, 1fr); }
        .who { grid-template-columns: 1fr 25rem; gap: 1.5rem; margin: 0; }
        figure { min-width: 0; }
        .who figure { display: flex; flex-direction: column; }
        .plot { flex: 1 0 15rem; min-height: 0; margin-top: 0.375rem; touch-action: pan-y; }
        .low { height: 9.5rem; }
        svg { display: block; fill: #2f6fde; }
        .plot text { fill: var(--quiet); font-size: 0.6875rem; }
        .plot [class] { fill: none; stroke: var(--line); }
        .plot .budget, .plot .cursor { stroke: var(--text); stroke-dasharray: 4 3; }
        .plot .line { stroke: var(--accent); stroke-width: 1.75; }
        .plot .most { stroke: var(--quiet); }
        .key { flex: none; width: 0.6875rem; height: 0.6875rem; margin-right: 0.5rem; }
        .bar { width: 100%; height: 0.25rem; margin-top: 0.1875rem; background: var(--line); }
        .bar.amber { fill: var(--mark); }
        .meter { min-width: 9rem; }
        #providers th:nth-child(2) { width: 34%; }
        table { border-collapse: collapse; width: 100%; }
        th, td { text-align: left; padding: 0.3125rem 1rem 0.3125rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
        tr > :last-child { padding-right: 0; }
        tr:last-child td { border: 0; }
        th, .number { font-weight: 400; white-space: nowrap; }
        .number { text-align: right; }
        #sources { align-self: start; font-size: 0.8125rem; }
        #sources .number { width: 3.75rem; padding-right: 0.5rem; }
        #names td, #forged td { overflow-wrap: anywhere; }
        .panel > * + table, .note, .codes { margin-top: 0.625rem; }
        button, input, select { font: inherit; color: var(--text); background: var(--panel); border: 1px solid var(--edge); border-radius: 0.375rem; padding: 0.375rem 0.75rem; }
        button { cursor: pointer; }
        .head button { font-size: 0.8125rem; padding: 0.1875rem 0.75rem; }
        .head [aria-pressed="true"] { background: var(--text); color: var(--panel); }
        td button { display: flex; align-items: baseline; padding: 0; border: 0; background: none; text-align: left; }
        td [aria-pressed="false"] { text-decoration: line-through; color: var(--quiet); }
        form, .codes { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; align-items: center; }
        input { flex: 1 1 12rem; min-width: 0; }
        form button { background: var(--accent); border-color: var(--accent); color: var(--panel); }
        #result { margin-top: 0.5rem; font-weight: 600; }
        #story li { display: grid; grid-template-columns: 4rem 7rem 5rem 1fr; gap: 0 0.75rem; align-items: center; padding: 0.25rem 0; }
        #story li :first-child { text-align: right; color: var(--quiet); }
        .code { width: 11rem; height: 11rem; margin-bottom: 0.5rem; }
        .codes figcaption { display: block; max-width: 20rem; overflow-wrap: anywhere; }
        [hidden] { display: none !important; }
        @media (max-width: 64rem) {
        .figures { grid-template-columns: repeat(3, 1fr); }
        .who { grid-template-columns: 1fr; gap: 0.75rem; }
        .charts { grid-template-columns: 1fr 1fr; }
        .charts :last-child { grid-column: 1 / -1; }
        .cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(19rem, 1fr)); gap: 0 1.5rem; }
        .cards tr { padding: 0.5rem 0; border-bottom: 1px solid var(--line); }
        .cards tr:first-child:not(:last-child) { position: absolute; left: -100rem; }
        .cards td { display: grid; grid-template-columns: 7.5rem 1fr; gap: 0.75rem; padding: 0.125rem 0; border: 0; text-align: left; white-space: normal; overflow-wrap: anywhere; }
        .cards [data-head]::before { content: attr(data-head); color: var(--quiet); font-size: 0.8125rem; }
        }
        @media (max-width: 44rem) {
        .figures { grid-template-columns: 1fr 1fr; }
        .charts figure { grid-column: 1 / -1; }
        .plot { flex-basis: 12rem; }
        .low { height: 8.5rem; }
        #story li { grid-template-columns: 4rem 4rem 1fr; }
        #story li :last-child { grid-column: 2 / -1; }
        }
        </style>
        </head>
        <body>
        <a class="skip" href="#lookup">Look a name up</a>
        <header>
        <h1>httpdnsd</h1>
        <p id="connection" role="status">connecting</p>
        </header>
        <noscript><p>This page needs JavaScript. <a href="/metrics">The metrics</a> do not.</p></noscript>
        <main>
        <section id="state" class="panel state">
        <h2>Is it working?</h2>
        <p id="verdict" role="status">Waiting for the server</p>
        <small id="traffic"></small>
        <ul id="causes"></ul>
        </section>
        <dl id="figures" class="figures"></dl>
        <section>
        <div class="head">
        <h2>Who answers</h2>
        <div role="group" aria-label="Time shown"><button id="hour" aria-pressed="true">1 hour</button><button id="day" aria-pressed="false">24 hours</button></div>
        </div>
        <div class="panel who">
        <figure>
        <figcaption><h3>Answers a second</h3><span id="answers-now"></span></figcaption>
        <div id="answers" class="plot" tabindex="0" role="slider" aria-label="Time in the charts" aria-valuemin="0" aria-valuemax="119"></div>
        </figure>
        <table id="sources"></table>
        </div>
        <div class="charts">
        <figure class="panel"><figcaption><h3>Cached</h3><span id="cached-now"></span></figcaption><div id="cached" class="plot low" role="img"></div></figure>
        <figure class="panel"><figcaption><h3>Latency</h3><span id="latency-now"></span></figcaption><div id="latency" class="plot low" role="img"></div></figure>
        <figure class="panel"><figcaption><h3>Vendor calls a minute</h3><span id="calls-now"></span></figcaption><div id="calls" class="plot low" role="img"></div></figure>
        </div>
        </section>
        <section><h2>Providers</h2><div class="panel"><table id="providers" class="cards"></table></div></section>
        <section>
        <h2>LocalDNS and what it forged</h2>
        <div class="panel">
        <table id="servers" class="cards"></table>
        <p id="forged-note" class="note"></p>
        <table id="forged" class="cards"></table>
        </div>
        </section>
        <section><h2>Names asked for most</h2><div class="panel"><p id="names-note" class="note"></p><table id="names"></table></div></section>
        <section id="lookup" tabindex="-1">
        <h2>Look a name up</h2>
        <div class="panel">
        <form id="form">
        <label for="name">Name</label>
        <input id="name" required maxlength="255" autocomplete="off" autocapitalize="none" spellcheck="false" placeholder="www.example.com">
        <label for="type">Type</label>
        <select id="type"><option>A</option><option>AAAA</option><option>HTTPS</option><option>CNAME</option><option>MX</option><option>TXT</option></select>
        <button>Look up</button>
        </form>
        <p id="result" role="status"></p>
        <ol id="story"></ol>
        </div>
        </section>
        <section id="phones" hidden>
        <h2>For phones and other machines</h2>
        <div class="panel">
        <p id="phones-note" class="note"></p>
        <div id="codes" class="codes"></div>
        <table id="systems" class="cards"></table>
        </div>
        </section>
        </main>
        <footer><span id="footer"></span> <a href="/metrics">/metrics</a></footer>
        <script>"use strict";
        const qr = (text) => {
        const versions = [[26, 7], [44, 10], [70, 15], [100, 20], [134, 26], [172, 18]];
        const bytes = [...new TextEncoder().encode(text)];
        const blocksOf = (index) => (index < 5 ? 1 : 2);
        const found = versions.findIndex(([all, check], index) => bytes.length + 2 <= all - check * blocksOf(index));
        if (found < 0) return null;
        const [all, check] = versions[found];
        const blocks = blocksOf(found);
        const size = 21 + 4 * found;
        const power = [1];
        while (power.length < 255) {
        const next = power[power.length - 1] << 1;
        power.push(next > 255 ? next ^ 0x11d : next);
        }
        const logarithm = new Map(power.map((value, exponent) => [value, exponent]));
        const product = (one, other) => (
        one && other ? power[(logarithm.get(one) + logarithm.get(other)) % 255] : 0);
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
        const halves = (value) => [value >> 4, value & 15];
        const nibbles = [4, ...halves(bytes.length), ...bytes.flatMap(halves), 0];
        const room = all - check * blocks;
        const data = [];
        for (let index = 0; index < nibbles.length; index += 2) data.push((nibbles[index] << 4) | nibbles[index + 1]);
        for (let filling = 0xec; data.length < room; filling ^= 0xec ^ 0x11) data.push(filling);
        const parts = Array.from({ length: blocks }, (_, index) => data.slice((index * room) / blocks, ((index + 1) * room) / blocks));
        const interleaved = (lists) => lists[0].flatMap((_, index) => lists.map((list) => list[index]));
        const stream = [...interleaved(parts), ...interleaved(parts.map(correction))];
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
        if (found > 0) rings(size - 7, size - 7, 2, [1]);
        const format = (mask) => {
        const value = 8 | mask;
        let rest = value << 10;
        for (let bit = 14; bit >= 10; bit -= 1) if ((rest >>> bit) & 1) rest ^= 0x537 << (bit - 10);
        const code = ((value << 10) | rest) ^ 0x5412;
        for (let index = 0; index < 15; index += 1) {
        const isDark = ((code >> index) & 1) === 1;
        if (index < 8) set(8, index < 6 ? index : index + 1, isDark);
        else set(index === 8 ? 7 : 14 - index, 8, isDark);
        if (index < 8) set(size - 1 - index, 8, isDark);
        else set(8, size - 15 + index, isDark);
        }
        set(8, size - 8, true);
        };
        format(0);
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
        const penalty = (rows) => {
        const columns = rows.map((_, x) => rows.map((row) => row[x]));
        let points = 0;
        for (const line of [...rows, ...columns].map((modules) => modules.map(Number).join(""))) {
        for (const run of line.match(/0{5,}|1{5,}/g) ?? []) points += run.length - 2;
        points += 40 * (line.match(/(?=00001011101|10111010000)/g) ?? []).length;
        }
        for (let y = 1; y < size; y += 1) {
        for (let x = 1; x < size; x += 1) {
        if ((rows[y][x] + rows[y - 1][x] + rows[y][x - 1] + rows[y - 1][x - 1]) % 4 === 0) points += 3;
        }
        }
        return points;
        };
        const points = drawn.map(penalty);
        return drawn[points.indexOf(Math.min(...points))];
        };
        </script>
        <script>"use strict";
        const words = {
        "Look a name up": "查询域名", connecting: "连接中", live: "实时", "no connection: trying again": "连接中断，正在重试",
        "Is it working?": "工作正常吗？", "Waiting for the server": "等待服务器", Yes: "正常", "Yes, with limits": "基本正常，但有问题",
        "No, not as it should": "不正常", "The server does not answer this page": "服务器没有响应", "What is shown is of {}.": "以下是 {} 的数据。",
        "{} queries in the last 5 minutes: {} without an answer, {} answered stale": "最近 5 分钟查询 {} 次：{} 次无应答，{} 次为过期应答",
        "server.unready": "无法应答未缓存的域名", "providers.none": "所有服务商都无法访问", "answers.failed": "SERVFAIL 或无应答过多",
        "answers.stale": "过期应答过多", "switch.off": "HTTPDNS 已关闭", "provider.refused": "服务商拒绝了账号或签名",
        "provider.exhausted": "服务商的调用次数已用完", "provider.disabled": "服务商已停用此账号", "provider.untrusted": "服务商的证书无效",
        "provider.unreachable": "服务商无法访问", "localdns.unreachable": "LocalDNS 无应答", "loop.found": "转发成环",
        "network.portal": "网络需要登录，或被劫持", "network.intercepted": "TLS 被拦截", "clock.wrong": "本机时钟不准", "disk.unused": "磁盘缓存未使用",
        "shared.unreachable": "共享缓存无法访问", "policy.missing": "尚未取得策略", "policy.expired": "策略已过期",
        "last 5 minutes": "最近 5 分钟", "Queries a second": "每秒查询", "{} in 5 minutes": "5 分钟 {} 次", Cached: "缓存命中",
        "{} entries": "{} 条", Median: "中位数", "95th percentile": "第 95 百分位", "stale {}": "过期 {}",
        "Vendor calls today": "今日调用", "of {}": "限额 {}", "no limit is set": "未设限额",
        "Who answers": "谁在应答", "Time shown": "时间范围", "1 hour": "1 小时", "24 hours": "24 小时", "Answers a second": "每秒应答",
        "Time in the charts": "图中的时间", Latency: "延迟", "Vendor calls a minute": "每分钟调用",
        "No answers in this time": "此时段没有应答", "median {}": "中位数 {}", "95th percentile {}": "第 95 百分位 {}", "budget {}": "限额 {}",
        Source: "来源", "a second": "每秒", Share: "占比",
        cached: "内存缓存", "cached on disk": "磁盘缓存", "shared cache": "共享缓存", providers: "服务商", "LocalDNS, verified": "LocalDNS，已验证",
        "LocalDNS, not protected": "LocalDNS，不保护", "forward servers": "转发服务器", presets: "预设", rules: "规则",
        "LocalDNS, not verified": "LocalDNS，未验证", stale: "过期",
        Providers: "服务商", Provider: "服务商", State: "状态", "Calls today": "今日调用", "This month": "本月", Billed: "计费", "{} of {}": "{} / {}",
        "forecast {}": "预计 {}", used: "使用中", "in backoff": "退避中", "probe due": "待探测", refused: "被拒绝", exhausted: "已用完",
        disabled: "已停用", "forwarding loop": "转发成环", "No provider is configured: LocalDNS answers every name.": "未配置服务商：所有域名由 LocalDNS 应答。",
        "LocalDNS and what it forged": "LocalDNS 及其伪造的应答", "all other names": "其他域名", Server: "服务器", For: "域名范围",
        "No server of LocalDNS is known.": "没有已知的 LocalDNS 服务器。", "No forged answer was found since the start.": "启动以来未发现伪造的应答。",
        "{} forged answers were found since the start; clients did not get them.": "启动以来发现 {} 个伪造的应答，客户端没有收到。",
        Name: "域名", Address: "地址", "Given by": "来自", Certificate: "证书", "Last seen": "最近一次", Times: "次数",
        "Names asked for most": "最常查询的域名", "In the last 10 to 20 minutes. Counts of rare names may be too high.": "最近 10 到 20 分钟；少见域名的次数可能偏高。",
        "Not counted: log.queries is false, or control.http is no loopback address.": "未统计：log.queries 为 false，或 control.http 不是环回地址。",
        Queries: "查询", Type: "类型", "Look up": "查询",
        "For phones and other machines": "供手机和其他设备使用", "QR code of {}": "{} 的二维码",
        "Enter or scan it. listen.allow must have the client's network, or the URL a token.": "输入或扫描。客户端网络须在 listen.allow 中，或网址带令牌。",
        "Write listen.name, a name of the certificate, and this shows what clients enter.": "请设置 listen.name（证书中的名称），这里便会显示客户端应填写的内容。",
        System: "系统", Where: "位置", "What to enter": "填写内容", "Network & internet, Private DNS": "网络和互联网 → 私人 DNS",
        "DNS over HTTPS, secure DNS: custom": "DNS over HTTPS、安全 DNS：自定义",
        "resolved.conf, with DNSOverTLS=yes": "resolved.conf，设 DNSOverTLS=yes", "the configuration profile that this command prints": "此命令输出的描述文件",
        "Version {}, mode {}, up {} h, {} reloads, {}": "版本 {}，模式 {}，运行 {} 小时，重载 {} 次，{}",
        };
        </script>
        <script>"use strict";
        (() => {
        const sources = [
        ["cache", "cached", "#2f6fde"], ["disk", "cached on disk", "#5b8def"], ["shared", "shared cache", "#0e93b8"],
        ["provider", "providers", "#12876f"], ["localdns_verified", "LocalDNS, verified", "#6d8f1f"],
        ["localdns", "LocalDNS, not protected", "#7b8591"], ["forward", "forward servers", "#8a63c9"],
        ["preset", "presets", "#b06ab3"], ["rule", "rules", "#9c7a4d"], ["localdns_unverified", "LocalDNS, not verified", "#b08900"],
        ["stale", "stale", "#d9730d"], ["none", "SERVFAIL", "#d93a3a"],
        ];
        const slots = 120;
        const gutter = 46;
        const none = "\u2013";
        const spans = { hour: [], day: [] };
        const hidden = new Set();
        let span = "hour";
        let cursor = null;
        let report = null;
        const $ = (id) => document.getElementById(id);
        const isChinese = navigator.language.startsWith("zh");
        const language = isChinese ? "zh-CN" : "en";
        const t = (text, ...values) => ((isChinese && words[text]) || text).replace(/{}/g, () => values.shift());
        const make = (tag, attributes, ...children) => {
        const made = /^(svg|path|text)$/.test(tag)
        ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
        if (tag === "svg" && !attributes.role) made.setAttribute("aria-hidden", "true");
        Object.entries(attributes).forEach(([name, value]) => { if (value !== undefined) made.setAttribute(name, value); });
        made.append(...children.flat(3));
        return made;
        };
        const patch = (old, made) => {
        if (old.isEqualNode(made)) return;
        if (old.nodeName !== made.nodeName || old.nodeType === 3) {
        old.replaceWith(made);
        return;
        }
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
        const table = (id, heads, rows, empty) => {
        const kind = (head) => (head.startsWith("#") ? "number" : undefined);
        const title = (head) => t(head.replace("#", ""));
        show(id, rows.length === 0 ? make("tr", {}, make("td", {}, empty)) : [
        make("tr", {}, heads.map((head) => make("th", { scope: "col", class: kind(head) }, title(head)))),
        rows.map((cells) => make("tr", {}, cells.map((cell, index) => make(
        "td", { class: kind(heads[index]), "data-head": title(heads[index]) }, make("div", {}, cell))))),
        ]);
        };
        const number = (value) => value.toLocaleString(language, { maximumFractionDigits: value < 1 ? 2 : value < 10 ? 1 : 0 });
        const percent = (part, whole) => (whole > 0 ? `${number((part / whole) * 100)} %` : none);
        const sum = (values) => values.reduce((all, value) => all + value, 0);
        const least = (values) => Number(values.toPrecision(2));
        const time = (seconds) => {
        if (seconds === null) return none;
        if (seconds < 0.001) return `${least(seconds * 1e6)} \u00b5s`;
        return seconds < 1 ? `${least(seconds * 1000)} ms` : `${least(seconds)} s`;
        };
        const clock = (date) => date.toLocaleTimeString(language, { hour: "2-digit", minute: "2-digit", hour12: false });
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
        const commands = (text) => text.split("`").map((part, index) => (index % 2 ? make("code", {}, part) : part));
        const mark = (level) => ({ green: "\u2713 ", amber: "! ", red: "\u2717 " })[level];
        const state = (word, isGood, ...more) => make(
        "span", { class: isGood ? "green" : "red" }, make("b", {}, mark(isGood ? "green" : "red")), t(word), more);
        const verdicts = { green: "Yes", amber: "Yes, with limits", red: "No, not as it should" };
        const showVerdict = ({ verdict: { level, queries, failed, stale, causes } }) => {
        $("state").className = `panel state ${level}`;
        show("verdict", make("b", { "aria-hidden": "true" }, mark(level)), t(verdicts[level]));
        show("traffic", t("{} queries in the last 5 minutes: {} without an answer, {} answered stale", number(queries), number(failed), number(stale)));
        show("causes", causes.map((cause) => make(
        "li", {},
        make("p", { class: cause.level }, make("b", { "aria-hidden": "true" }, mark(cause.level)),
        isChinese && words[cause.key] ? [words[cause.key], make("small", { lang: "en" }, cause.sentence)] : cause.sentence[0].toUpperCase() + cause.sentence.slice(1)),
        make("small", { lang: "en" }, "\u2192 ", commands(cause.remedy)))));
        };
        const read = (numbers, seconds) => {
        const count = report.answers.length;
        const answers = sources.map(([label]) => numbers[report.answers.findIndex((each) => each.label === label)]);
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
        const round = (value) => {
        const unit = 10 ** Math.floor(Math.log10(value));
        return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((each) => each * unit >= value) * unit;
        };
        const even = (top, text) => [0, top / 2, top].map((value) => [value / top, text(value)]);
        const instant = (slot) => {
        const { step_seconds: seconds, elapsed_seconds: elapsed } = report[span];
        return new Date(Date.now() - (elapsed + (slots - 1 - slot) * seconds) * 1000);
        };
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
        const offset = instant(0).getTimezoneOffset() * 60000;
        const begin = instant(0).getTime();
        for (let at = Math.ceil((begin - offset) / every / 1000) * every * 1000 + offset; at < Date.now(); at += every * 1000) {
        const place = gutter + ((at - begin) / 1000 / seconds) * right;
        if (place > width - 18) break;
        lines += `M${Math.round(place) + 0.5} ${bottom}v4`;
        texts.push(make("text", { x: place, y: height - 4, "text-anchor": "middle" }, clock(new Date(at))));
        }
        if (total(together(spans[span])) === 0 && id !== "calls") texts.push(make("text", { x: gutter + right / 2, y: bottom / 3, "text-anchor": "middle" }, t("No answers in this time")));
        const line = cursor === null ? [] : [make("path", { class: "cursor", d: `M${x(cursor + 0.5)} 8V${bottom}` })];
        show(id, make("svg", { width, height }, make("path", { class: "axis", d: lines }), paths(x, y), line, texts));
        };
        const columns = (steps, x, from, to) => steps.map((step, index) => {
        const slot = slots - steps.length + index;
        const [low, high] = [from(step, index), to(step, index)].map((height) => height.toFixed(1));
        const [left, right] = [x(slot), x(slot + 1) - (x(1) - x(0) > 4 ? 1 : 0)].map((place) => place.toFixed(1));
        return low === high ? "" : `M${left} ${low}H${right}V${high}H${left}z`;
        }).join("");
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
        const when = cursor === null ? "" : `${clock(instant(cursor))} \u00b7 `;
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
        show("latency-now", when, make("i", { class: "median" }, t("median {}", time(quantile(here.latencies, 0.5)))), ` \u00b7 ${t("95th percentile {}", time(quantile(here.latencies, 0.95)))}`);
        show("calls-now", when, number(perMinute(here)), budget ? ` \u00b7 ${t("budget {}", number(budget))}` : "");
        const said = [...document.querySelectorAll(".plot")].map((plot) => plot.parentNode.firstElementChild.innerText.replace("\n", ": "));
        ["cached", "latency", "calls"].forEach((id, index) => { $(id).ariaLabel = said[index + 1]; });
        $("answers").setAttribute("aria-valuenow", cursor ?? slots - 1);
        $("answers").setAttribute("aria-valuetext", said.join("; "));
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
        "small", {}, state("", each.state === "used", each.address, each.response_ms === null ? "" : ` \u00b7 ${each.response_ms} ms`,
        each.state === "used" ? "" : ` \u00b7 ${t(each.state)} ${each.last_error ? `\u00b7 ${each.last_error}` : ""}`)))],
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
        new Date(entry.last).toLocaleString(language, { dateStyle: "short", timeStyle: "short", hour12: false }), number(entry.count),
        ]), "");
        };
        const showNames = ({ names }) => {
        show("names-note", t(names ? "In the last 10 to 20 minutes. Counts of rare names may be too high."
        : "Not counted: log.queries is false, or control.http is no loopback address."));
        $("names").hidden = !names;
        table("names", ["Name", "#Queries"], (names ?? []).map((each) => [[each.label, bar(0, each.count / names[0].count)], number(each.count)]), none);
        };
        const code = (text) => {
        const rows = qr(text);
        if (!rows) return [];
        const size = rows.length + 8;
        const dark = rows.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x + 4} ${y + 4}h1v1h-1z` : ""))).join("");
        return make(
        "svg", { class: "code", viewBox: `0 0 ${size} ${size}`, "shape-rendering": "crispEdges", role: "img", "aria-label": t("QR code of {}", text) },
        make("path", { d: `M0 0h${size}v${size}H0z`, fill: "#fff" }), make("path", { d: dark, fill: "#000" }));
        };
        let entered = "";
        const showPhones = ({ status: { encrypted } }) => {
        $("phones").hidden = !encrypted;
        const { name = "", tls_port: port = 0, url = "", addresses = [] } = encrypted ?? {};
        const all = JSON.stringify([name, port, url, addresses]);
        if (!encrypted || all === entered) return;
        entered = all;
        show("phones-note", t(name ? "Enter or scan it. listen.allow must have the client's network, or the URL a token."
        : "Write listen.name, a name of the certificate, and this shows what clients enter."));
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
        rows.push(["iOS, macOS", "the configuration profile that this command prints", "httpdnsd profile ios"]);
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
        show("result", "\u2026");
        show("story");
        try {
        const response = await fetch(`/trace?${query}`);
        const found = await response.json();
        if (!response.ok) return show("result", found.error);
        const whole = Math.max(1, ...found.steps.map((step) => step.milliseconds));
        show("result", `${found.name} ${found.type}: ${found.status} \u00b7 ${whole} ms`);
        return show("story", found.steps.map((step, index) => {
        const [from, to] = [step, found.steps[index + 1] ?? step].map((each) => each.milliseconds / whole);
        return make(
        "li", {}, make("span", {}, `${step.milliseconds} ms`), bar(Math.min(from, 0.98), Math.max(from + 0.02, to)),
        make("b", {}, step.kind), make("span", {}, step.text));
        }));
        } catch {
        return show("result", t("The server does not answer this page"));
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
        for (const plot of document.querySelectorAll(".plot")) {
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
        document.documentElement.lang = language;
        for (const each of document.querySelectorAll("h2, h3, p, a, button, label")) each.textContent = t(each.textContent);
        for (const each of document.querySelectorAll("[aria-label]")) each.ariaLabel = t(each.ariaLabel);
        const events = new EventSource("/events");
        events.onopen = () => {
        show("connection", t("live"));
        for (const held of Object.values(spans)) held.length = 0;
        };
        events.onerror = () => {
        show("connection", t("no connection: trying again"));
        $("state").className = "panel state red";
        show("verdict", t("The server does not answer this page"));
        show("traffic", t("What is shown is of {}.", clock(new Date())));
        show("causes");
        };
        events.onmessage = (event) => {
        report = JSON.parse(event.data);
        showAll();
        };
        })();
        </script>
        </body>
        </html>

        """###
}
