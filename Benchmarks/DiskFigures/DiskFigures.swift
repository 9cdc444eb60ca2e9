import DNSCache
import DNSWire
import DiskCache
import Glibc
import Platform

/// Measures the cache on disk: `DiskFigures [NAMES] [DIRECTORY]`. Defaults: 1,000,000 names in /var/tmp.
///
/// `DiskFigures fill FILE NAMES` only writes a file with A records.
@main
struct DiskFigures {
    private let names: Int
    private let path: String
    private let identity: PolicyIdentity
    /// A prime that divides no number of names, so that its multiples are all numbers below.
    private static let step = 2_654_435_761

    init(names: Int, path: String) {
        self.names = names
        self.path = path
        identity = PolicyIdentity(
            sources: [0x8001: "vendor"], standIns: [], digest: "figures", generation: 1, route: { _, _ in 1 })
    }

    static func main() async throws {
        let arguments = CommandLine.arguments
        if arguments.count == 4, arguments[1] == "fill", let names = Int(arguments[3]) {
            try DiskFigures(names: names, path: arguments[2]).write(pattern: ("host", ".bench.example"), types: [.a])
            return
        }
        let names = arguments.count > 1 ? Int(arguments[1]) ?? 0 : 1_000_000
        let directory = (arguments.count > 2 ? arguments[2] : "/var/tmp") + "/httpdnsd-figures-\(getpid())"
        let figures = DiskFigures(names: max(names, 1), path: directory + "/cache.sqlite")
        try figures.write()
        try await figures.load()
        for end in ["", "-wal"] { unlink(figures.path + end) }
        rmdir(directory)
    }

    private func disk(_ memory: MemoryCache) throws -> DiskCache {
        let disk = try DiskCache(
            path, limit: 8 << 30, memory: memory,
            clock: WallClock(now: { .bootTime }, secondsSince1970: { Int64(time(nil)) }), report: { _ in })
        disk.adopt(identity)
        disk.load()
        return disk
    }

    /// Measures rows written per second, and the size of the file.
    private func write(
        pattern: (String, String) = ("host-", ".example.com"), types: [RecordType] = [.a, .aaaa]
    ) throws {
        let memory = MemoryCache(memory: 1 << 20)
        let disk = try disk(memory)
        let begin = Instant.bootTime
        var rows = 0
        for number in 0..<names {
            // In no order, as clients ask: in that of the names, the index would only grow at its end.
            let index = number * Self.step % names
            for type in types {
                let question = Question(name: try Name("\(pattern.0)\(index)\(pattern.1)"), type: type)
                let address: IPAddress = type == .a ? .v4(UInt32(index)) : .v6(UInt128(index))
                guard
                    let packed = PackedAnswer(
                        Answer(name: question.name, addresses: [address], ttl: 86_400), for: question)
                else { continue }
                disk.store(
                    CacheEntry(
                        answer: packed, storedAt: .bootTime, lifetime: 86_400, generation: 1, route: 1,
                        source: 0x8001),
                    for: QueryKey(question, dnssecOK: false, checkingDisabled: false))
                rows += 1
            }
            // No more than may wait at once.
            while rows - disk.status.written > 12_000 { usleep(500) }
        }
        disk.stop(within: .seconds(60))
        let seconds = (Instant.bootTime - begin).nanoseconds / 1_000_000
        var status = stat()
        stat(path, &status)
        print("written: \(rows) answers in \(seconds) ms, \(rows * 1_000 / max(1, Int(seconds))) a second")
        print("file: \(status.st_size) bytes, \(Int(status.st_size) / names) of a name (\(types.count) types)")
    }

    /// Measures answers loaded per second, and the time until the first ones are in memory.
    private func load() async throws {
        let memory = MemoryCache(memory: 1 << 30)
        let begin = Instant.bootTime
        let disk = try disk(memory)
        var first: Duration?
        while disk.status.state != .used {
            if first == nil, memory.statistics.entries > 0 { first = Instant.bootTime - begin }
            usleep(200)
        }
        let seconds = (Instant.bootTime - begin).nanoseconds / 1_000_000
        let loaded = disk.status.loaded
        print("loaded: \(loaded) answers in \(seconds) ms, \(loaded * 1_000 / max(1, Int(seconds))) a second")
        print("first answers in memory after \((first ?? .zero).nanoseconds / 1_000) us")
        disk.stop()
    }
}
