/// Plays the same traces with the daemon's memory cache, LRU and SIEVE, each with room for the same number of entries,
/// and prints a table of the hit rates.
///
/// The daemon's hash has a secret that is new in each run, so where the cache has several shards its figures may differ
/// by some hundredths of a percentage point from run to run.
@main
struct HitRate {
    static let names = 200_000
    static let requests = 1_000_000
    /// The number of first requests, which fill the caches and are not counted.
    static let warmUp = requests / 5

    static func main() throws {
        print("| memory | entries | trace | httpdnsd | SIEVE | LRU | httpdnsd's longest walk | SIEVE's |")
        print("|---|---|---|---|---|---|---|---|")
        for memory in [256 << 10, 1 << 20, 4 << 20] {
            let capacity = try DaemonCache.capacity(memory: memory)
            for trace in traces(capacity: capacity) {
                var ours = try DaemonCache(memory: memory)
                var sieve = Sieve(capacity: capacity)
                var lru = LRU(capacity: capacity)
                let rates = [
                    hitRate(of: &ours, on: trace), hitRate(of: &sieve, on: trace), hitRate(of: &lru, on: trace),
                ]
                let walks = ["\(ours.longestWalk)", "\(sieve.longestWalk)"]
                let cells = ["\(memory >> 10) KiB", "\(capacity)", trace.title] + rates + walks
                print("| \(cells.joined(separator: " | ")) |")
            }
        }
    }

    static func traces(capacity: Int) -> [Trace] {
        [0.6, 0.8, 0.9, 1.0, 1.2].map { Trace.zipf($0, names: names, requests: requests) } + [
            .scanned(0.9, names: names, requests: requests, period: 2 * capacity, scan: capacity),
            .shifting(0.9, names: names, requests: requests, period: 50_000, shift: 2_000),
            .loop(names: capacity * 6 / 5, requests: requests),
        ]
    }

    /// The percentage of requests that are hits.
    static func hitRate(of policy: inout some EvictionPolicy, on trace: Trace) -> String {
        var hits = 0
        for (number, name) in trace.names.enumerated() {
            let isHit = policy.request(name)
            if isHit, number >= warmUp { hits += 1 }
        }
        let hundredths = (hits * 10_000 + (trace.names.count - warmUp) / 2) / (trace.names.count - warmUp)
        let fraction = hundredths % 100
        return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction) %"
    }
}
