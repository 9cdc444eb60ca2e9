import Admin
import Configuration
import DNSCache
import DNSResolver
import DNSWire
import DiskCache
import Glibc
import Logs
import Platform
import Scheduling

extension DiskCache {
    /// Bytes in the file for each byte of `cache.memory`: names that memory has no room for are still of use.
    private static let fileShare = 2

    /// Begins to open the disk of a configuration, which is used once it has a policy; nil when none is wanted, or none can
    /// be had.
    @Loop
    static func start(_ settings: Configuration, memory: MemoryCache, log: LogOutput) -> DiskCache? {
        guard !settings.cache.disk.path.isEmpty else { return nil }
        do throws(SystemError) {
            return try DiskCache(
                settings.cache.disk.path, limit: settings.cache.memory * fileShare, memory: memory,
                clock: WallClock(now: { .bootTime }, secondsSince1970: { Int64(time(nil)) })
            ) { [logger = log.logger] in logger.log($0.kind, $0.text) }
        } catch {
            log.logger.log(.diskUnavailable, "\(error); answers are cached in memory alone")
            return nil
        }
    }
}

/// The disk is where answers go; neither target knows the other.
extension DiskCache: AnswerArchive {}

extension DiskEvent {
    fileprivate var kind: LogKind {
        switch self {
        case .unavailable: .diskUnavailable
        case .back: .diskBack
        case .quarantined: .diskQuarantined
        case .loaded: .diskLoaded
        }
    }

    fileprivate var text: String {
        switch self {
        case .unavailable(let reason):
            "the cache on disk cannot be used, answers are cached in memory alone: \(reason); cache.disk.path names another file"
        case .back: "the cache on disk is used again"
        case .quarantined(let path?, let reason):
            "the cache on disk is damaged, or of another version (\(reason)): it is now \(path), and a new one is started"
        case .quarantined(nil, let reason):
            "the cache on disk is damaged, or of another version (\(reason)), and a new one is started"
        case .loaded(let count, true): "loaded \(counted(count, "answer")) of the last time from disk"
        case .loaded(let count, false):
            "loaded \(counted(count, "answer")) of the last time from disk; memory has no room for the others, which are read as they are asked for"
        }
    }
}

extension CallQuota.Record {
    /// As it is stored on disk: day, month, and when counting for the month began.
    var storedText: String {
        "\(day.storedText) \(month.storedText) \(since ?? 0)"
    }

    /// Nil for what makes no sense.
    init?(storedText: String) {
        let numbers = storedText.split(separator: " ").map { Int64($0) }
        guard numbers.count == 7, numbers.allSatisfy({ $0 != nil }) else { return nil }
        let known = numbers.compactMap(\.self)
        guard let day = CallCount(stored: known[0..<3]), let month = CallCount(stored: known[3..<6]) else { return nil }
        self.init(day: day, month: month, since: known[6])
    }
}

extension CallCount {
    fileprivate var storedText: String { "\(period) \(calls) \(billed)" }

    fileprivate init?(stored: ArraySlice<Int64>) {
        let numbers = Array(stored)
        guard numbers.count == 3, numbers[1] >= 0, numbers[2] >= 0 else { return nil }
        self.init(period: numbers[0], calls: Int(numbers[1]), billed: Int(numbers[2]))
    }
}
