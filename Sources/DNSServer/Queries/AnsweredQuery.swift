package import DNSResolver
package import DNSWire
package import Platform
import Scheduling

/// A query and its response, for the log of queries and the listeners.
package struct AnsweredQuery: Sendable {
    package let client: IPAddress
    /// In whose share it waited for the resolver; nil: it did not.
    package let network: ClientNetwork?
    package let transport: Transport
    /// The question as received; nil when it could not be parsed.
    package let question: Question?
    package let responseCode: ResponseCode
    package let kind: AnswerKind
    /// The number of the source that was asked for the answer, or made it.
    package let source: UInt16?
    /// From the query's arrival to its response.
    package let took: Duration
}

extension AnsweredQuery {
    /// A query that was answered without the resolver: from the cache, or with an error.
    ///
    /// - Parameter reply: the response; only its header is read.
    init?(
        _ message: Span<UInt8>, reply: Span<UInt8>, client: IPAddress, transport: Transport, took: Duration
    ) {
        guard let query = Query.read(message), reply.count >= Header.length else { return nil }
        self.client = client
        network = nil
        self.transport = transport
        question = Question(query, in: message)
        let code = ResponseCode(rawValue: UInt16(reply[3] & 0xf))
        // The header's RCODE has no room for a code such as BADVERS.
        responseCode = code == .noError ? query.fault : code
        kind =
            switch responseCode {
            case .noError, .nameError: .cache
            case .serverFailure: .failure
            default: .rule
            }
        source = nil
        self.took = took
    }
}

extension Question {
    /// The question of a query that was parsed from `message`.
    init?(_ query: Query, in message: Span<UInt8>) {
        guard query.questionLength > 0 else { return nil }
        var wire: [UInt8] = []
        wire.append(addingCapacity: query.nameLength) { output in
            for index in 0..<query.nameLength { output.append(message[Header.length + index]) }
        }
        guard let name = try? Name(wire: wire) else { return nil }
        self.init(name: name, type: query.type, class: query.class)
    }
}

/// A query over UDP that the cache could not answer, on its way to the loop.
struct MissedQuery: Sendable {
    let message: [UInt8]
    let client: SocketAddress
    let path: DatagramPath
    let arrived: Instant
    /// The program of this machine that asks, where it was looked for and found.
    let program: ClientNetwork?

    /// By which the places of waiting queries are shared, and how long it waits.
    var origin: SharedQueue<MissedQuery>.Origin { (program ?? ClientNetwork(client.ip), arrived) }
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
