import DNSResolver
package import DNSWire
package import Platform
import Scheduling
import Synchronization

/// Counts responses by transport, address family and response code. One thread adds, and any may read.
final class ResponseCounters: Sendable {
    /// The RCODE field of a header has four bits (RFC 1035 section 4.1.1).
    private static let codes = 16
    /// Words before and after the counters, a cache line each: another thread's counters are never in the same one.
    private static let margin = 8

    /// The counters of a transport and family, as the place of the first one.
    struct Row: Sendable {
        fileprivate let start: Int

        init(_ transport: Transport, isIPv6: Bool) {
            let place =
                switch transport {
                case .udp: 0
                case .tcp: 2
                case .tls: 4
                case .https: 6
                }
            start = margin + (place + (isIPv6 ? 1 : 0)) * codes
        }
    }

    private let counts = InlineArray<144, Atomic<Int>> { _ in Atomic(0) }

    /// Adds a response.
    ///
    /// - Parameter flags: the fourth byte of its header, whose lower half is the response code.
    @inline(__always)
    func add(_ flags: UInt8, to row: Row) {
        let place = row.start + Int(flags & 0xf)
        // No other thread adds, so that this need not be one step.
        counts[place].store(counts[place].load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    }

    /// How many responses of a transport and family are answers: NOERROR or NXDOMAIN.
    func answers(of row: Row) -> Int {
        counts[row.start].load(ordering: .relaxed)
            &+ counts[row.start + Int(ResponseCode.nameError.rawValue)].load(ordering: .relaxed)
    }

    /// Those of all `counters`, without those that are 0 but for NOERROR and SERVFAIL, whose rates are watched.
    ///
    /// - Parameter transports: those that are served.
    static func sum(_ counters: [ResponseCounters], of transports: [Transport]) -> [ResponseCount] {
        var sums: [ResponseCount] = []
        for transport in transports {
            for isIPv6 in [false, true] {
                let row = Row(transport, isIPv6: isIPv6)
                for code in 0..<codes {
                    let count = counters.reduce(0) { $0 &+ $1.counts[row.start + code].load(ordering: .relaxed) }
                    let code = ResponseCode(rawValue: UInt16(truncatingIfNeeded: code))
                    guard count > 0 || [.noError, .serverFailure].contains(code) else { continue }
                    sums.append(ResponseCount(transport: transport, isIPv6: isIPv6, code: code, count: count))
                }
            }
        }
        return sums
    }
}

/// How many responses had a transport, an address family and a response code.
package struct ResponseCount: Sendable {
    package let transport: Transport
    package let isIPv6: Bool
    package let code: ResponseCode
    package let count: Int
}

/// How long the loop's responses took from the query, by the kind of the answer.
final class AnswerTimes: Sendable {
    private let histograms = AnswerKind.allCases.map { _ in LatencyHistogram() }

    /// Adds a response.
    func add(_ kind: AnswerKind, from arrived: Instant, to now: Instant) {
        histograms[kind.rawValue].add(from: arrived, to: now)
    }

    /// Those of one kind since the start.
    func total(_ kind: AnswerKind) -> LatencyHistogram.Total { histograms[kind.rawValue].total }
}
