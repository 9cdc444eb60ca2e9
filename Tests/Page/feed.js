"use strict";
// Made-up figures of a server, as its page gets them: an office of 40 people.

const labels = [
  "cache", "disk", "stale", "provider", "shared", "localdns_verified", "localdns_unverified", "localdns", "forward", "preset",
  "rule", "none",
];
const bounds = Array.from({ length: 19 }, (_, index) => 10 * 2 ** index);
const states = ["well", "limits", "broken", "new"];

// The same at each run.
let seed = 1;
const random = () => {
  seed = (seed * 48271) % 2147483647;
  return seed / 2147483647;
};
const about = (value) => Math.round(value * (0.7 + 0.6 * random()));

// The share of each source and the bucket of its time.
const shares = {
  well: { cache: 0.9, disk: 0.01, provider: 0.052, shared: 0.01, localdns: 0.017, forward: 0.008, rule: 0.002, stale: 0.0005 },
  limits: { cache: 0.84, provider: 0.07, localdns: 0.02, localdns_verified: 0.012, stale: 0.035, none: 0.004, rule: 0.001 },
  broken: { cache: 0.3, localdns_unverified: 0.06, stale: 0.2, none: 0.42 },
};
const places = { cache: 1, disk: 6, stale: 14, provider: 11, shared: 7, localdns: 10, localdns_verified: 13, localdns_unverified: 10, forward: 8, preset: 1, rule: 1, none: 18 };

const step = (state, queries) => {
  const answers = labels.map((label) => about(queries * (shares[state]?.[label] ?? 0)));
  const buckets = Array(bounds.length + 1).fill(0);
  answers.forEach((count, index) => {
    const place = places[labels[index]];
    [[-1, 0.2], [0, 0.5], [1, 0.2], [2, 0.1]].forEach(([by, share]) => { buckets[Math.min(19, Math.max(0, place + by))] += Math.round(count * share); });
  });
  return [...answers, ...buckets, answers[3] + answers[3] % 3, 0];
};

const chart = (state, seconds, daily) => {
  const steps = [];
  for (let index = 0; state !== "new" && index < 119; index += 1) {
    const hour = daily ? (14.5 - ((119 - index) * 12) / 60 + 24) % 24 : 14 + index / 120;
    const busy = 0.06 + Math.exp(-(((hour - 10.5) / 2.2) ** 2)) + 0.9 * Math.exp(-(((hour - 15) / 2.5) ** 2));
    const isBefore = index < (daily ? 117 : 70);
    steps.push(...step(state === "well" || !isBefore ? state : "well", busy * 22 * seconds));
  }
  return { step_seconds: seconds, elapsed_seconds: seconds / 2, steps, current: step(state, 11 * seconds) };
};

const cause = (level, key, sentence, remedy) => ({ level, key, severity: "error", sentence, remedy });
const verdicts = {
  well: { level: "green", queries: 6928, failed: 0, stale: 0, causes: [] },
  limits: {
    level: "amber", queries: 6774, failed: 27, stale: 216, causes: [
      cause("amber", "answers.stale", "3.2 % (216 of 6774) of the queries of the last 5 minutes got an answer past its TTL", "`httpdnsd doctor` says which source is slow or away"),
      cause("amber", "provider.exhausted", "provider tencent: its limit of calls is reached, and it is not asked until 00:00 UTC", "a higher daily_limit or monthly_limit, or fewer names in its `names`"),
    ],
  },
  broken: {
    level: "red", queries: 6531, failed: 2792, stale: 1229, causes: [
      cause("red", "providers.none", "no provider can be reached: protected names have what is cached, or LocalDNS", "`httpdnsd doctor` says what is in the way of each"),
      cause("red", "answers.failed", "42.7 % (2792 of 6531) of the queries of the last 5 minutes got SERVFAIL or nothing", "`httpdnsd query NAME --trace` says why; `journalctl -u httpdnsd -p warning`"),
      cause("amber", "provider.unreachable", "provider alidns cannot be reached at 223.5.5.5:443, [2400:3200::1]:443: Failed to connect to 223.5.5.5 port 443 after 2 ms: Connection refused", "`curl -v https://223.5.5.5/dns-query` from this machine; a firewall must let it out, or http.proxy names a proxy"),
    ],
  },
  new: { level: "green", queries: 0, failed: 0, stale: 0, causes: [] },
};

const address = (text, ms, state = "used", error = null) => ({ address: text, state, response_ms: ms, last_error: error });
const provider = (name, type, state, addresses, more = {}) => ({
  name, type, state, addresses, calls_today: 0, daily_limit: 0, calls_this_month: 0, monthly_limit: 0, calls_forecast: null, fleet_today: null,
  fleet_this_month: null, billed_this_month: 0, billed_forecast: null, ...more,
});
const refusal = "Failed to connect to 223.5.5.5 port 443 after 2 ms: Connection refused";

const feed = (state) => {
  seed = 1;
  const isBroken = state === "broken";
  const [hour, day] = [chart(state, 30, false), chart(state, 720, true)];
  const count = isBroken ? 0.4 : 1;
  return {
    verdict: verdicts[state],
    status: {
      version: "1.0.0", pid: 1, uptime_seconds: state === "new" ? 12 : 777_000, mode: "protect", reloads: 2, config: "/etc/httpdnsd/httpdnsd.toml",
      cache: { entries: state === "new" ? 0 : 18_211 },
      providers: [
        provider("alidns", "doh", "used", isBroken ? [address("223.5.5.5:443", 11, "in backoff", refusal), address("[2400:3200::1]:443", null, "probe due", "Network is unreachable")]
          : [address("223.5.5.5:443", 11), address("[2400:3200::1]:443", 14)], { calls_today: 10_412 * count, daily_limit: 40_000, calls_this_month: 241_000, monthly_limit: 1_000_000, calls_forecast: 780_000 }),
        ...(isBroken ? [provider("spare", "aliyun", "refused", [address("203.107.1.1:443", 18)]), provider("old", "huawei", "disabled", [])] : []),
        provider("tencent", "tencent-https", state === "limits" ? "exhausted" : "used", [address("119.29.29.99:443", 23, isBroken ? "in backoff" : "used", isBroken ? "no response within 1.0 s" : null)], {
          calls_today: state === "limits" ? 20_000 : 1_208, daily_limit: 20_000, calls_this_month: 61_300, monthly_limit: 100_000, calls_forecast: 128_000, billed_this_month: 58_110, billed_forecast: 121_000 }),
      ],
      localdns: [{ address: "192.168.1.1:53", state: "used" }, { address: "[fe80::1%eth0]:53", state: state === "limits" ? "in backoff" : isBroken ? "forwarding loop" : "used" }],
      forwards: [{ suffixes: ["corp.example.com", "10.in-addr.arpa"], servers: [{ address: "10.0.0.53:53", state: "used" }] }],
      forged_checks: state === "new" ? 0 : 318,
      forged: state === "new" ? [] : [
        { name: "www.example.org", address: "203.0.113.66", server: "192.168.1.1:53", reason: "certificate of another name", subject: "CN=block.isp.example", last: "2030-05-14T06:21:40Z", count: 310 },
        { name: "a-very-long-name-of-a-content-network.region-7.edge.example.net", address: "2001:db8:66::1", server: "192.168.100.254:53", reason: "self-signed certificate", subject: "", last: "2030-05-13T22:02:09Z", count: 8 },
      ],
      ...(state === "well" ? { encrypted: { name: "dns.example.com", tls_port: 853, url: "https://dns.example.com/dns-query", template: "https://dns.example.com/dns-query{?dns}", https: ["192.0.2.53:443"], addresses: ["192.0.2.53", "2001:db8::53"] } } : {}),
      ...(state === "new" ? {} : { apps: {
        listen: ["10.0.0.2:8080"],
        requests: ["answered", "access", "credentials", "guesses", "quota", "site", "malformed"].map((result, index) => ({ result, count: isBroken ? 911 * index : 48_211 >> (3 * index) })),
        accounts: [{ id: "100001", names_today: 61_020, daily_limit: 1_000_000 }, { id: "1001", names_today: 7, daily_limit: 0 }],
      } }),
    },
    bounds_us: bounds,
    answers: labels.map((label, index) => ({ label, counts: step(state, 2e6).slice(12, 32).map((all, bucket) => (Math.abs(bucket - places[label] - 1) < 2 && shares[state]?.[label] ? all : 0) + index * 0) })),
    hour, day,
    providers: ["alidns", "tencent"].map((label, index) => ({ label, counts: bounds.concat(0).map((_, bucket) => (state === "new" ? 0 : Math.max(0, 900 - (bucket - 10 - index) ** 2 * 200))) })),
    ...(state === "limits" ? {} : { names: state === "new" ? [] : ["www.example.com", "api.shop.example.com", "a-very-long-name-of-a-content-network.region-7.edge.example.net", "time.example.org"].map((label, index) => ({ label, count: Math.round(4100 / (index + 1)) })) }),
  };
};

const trace = {
  name: "shop.example.com", type: "A", status: "NOERROR", source: "provider",
  steps: [
    { milliseconds: 0, kind: "route", text: "protect: no rule names it" },
    { milliseconds: 0, kind: "cache", text: "miss" },
    { milliseconds: 1, kind: "ask", text: "provider alidns at 223.5.5.5:443" },
    { milliseconds: 1, kind: "ask", text: "LocalDNS 192.168.1.1:53, to compare" },
    { milliseconds: 4, kind: "reply", text: "LocalDNS 192.168.1.1:53: 203.0.113.66, whose certificate is of another name" },
    { milliseconds: 14, kind: "reply", text: "provider alidns: 192.0.2.10, TTL 300 s" },
    { milliseconds: 14, kind: "answer", text: "192.0.2.10" },
  ],
};

module.exports = { feed, trace, states };
