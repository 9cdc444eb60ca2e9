import CSystem.Dnstap
import CSystem.Linux
public import DNSWire
import Glibc
public import Platform

/// Sends every query of clients and every response to a collector of dnstap (https://dnstap.info), in the background.
///
/// Each producer, a UDP thread or the loop, has a queue of its own, so that none waits for another or for the collector:
/// what has no room there is dropped and counted. A thread of libfstrm sends at once when half a queue is used, else within
/// two seconds.
@safe public final class Dnstap: Sendable {
    public enum State: Equatable {
        /// Before the first attempt has ended.
        case connecting
        case connected
        /// Tried again, ever less often, down to each 30 s.
        case unavailable(reason: String)
    }

    /// The circumstances of a query and its response.
    struct Exchange {
        let client: SocketAddress
        let transport: Transport
        /// When the query came, in nanoseconds since 1970.
        let queried: UInt64
    }

    public let collector: StreamPlace
    /// The producer whose messages are taken off after those of the others: the loop's responses after the queries.
    let last: Int
    // Its functions may be called from any thread.
    private nonisolated(unsafe) let tap: OpaquePointer

    /// Begins to connect.
    ///
    /// - Parameters:
    ///   - identity: this machine, in every frame.
    ///   - version: this program with its version, likewise.
    ///   - producers: how many threads add messages: those over UDP by their numbers, and the loop as the last.
    /// - Throws: when there is no memory or descriptor.
    public init(
        to collector: StreamPlace, identity: String, version: String, producers: Int
    ) throws(SystemError) {
        self.collector = collector
        last = max(0, producers - 1)
        let count = UInt32(clamping: producers)
        let opened =
            switch collector {
            case .unix(let path): unsafe cdnstap_open(path, nil, 0, identity, version, count)
            case .tcp(let endpoint):
                // An interface that does not exist is none.
                unsafe (SocketAddress(endpoint) ?? SocketAddress(endpoint.address, port: endpoint.port)).withSockaddr {
                    unsafe cdnstap_open(nil, $0, $1, identity, version, count)
                }
            }
        guard let opened = unsafe opened else {
            throw SystemError(code: ENOMEM, operation: "send to dnstap at \(collector)")
        }
        unsafe tap = unsafe opened
    }

    deinit { unsafe cdnstap_free(tap) }

    public var state: State {
        switch unsafe cdnstap_state(tap) {
        case 1: .connected
        case 0: .connecting
        case let code: unsafe .unavailable(reason: String(cString: strerror(-code)))
        }
    }

    /// Messages since the start: those that the collector was sent, and those dropped.
    public var counts: (sent: Int, dropped: Int) {
        unsafe (Int(clamping: cdnstap_sent(tap)), Int(clamping: cdnstap_dropped(tap)))
    }

    /// Sends what is queued, as far as the collector takes it within a quarter of a second, and ends. Blocks, for a second more
    /// when libfstrm's thread is just about to wait. No thread but the caller's may add any more.
    public func stop() { unsafe cdnstap_stop(tap) }

    /// Adds a query, or a response.
    ///
    /// - Parameters:
    ///   - responded: when the response was sent, in nanoseconds since 1970; nil: it is a query.
    ///   - producer: the caller's number.
    func add(_ message: Span<UInt8>, _ exchange: Exchange, responded: UInt64? = nil, by producer: Int) {
        unsafe message.withUnsafeBufferPointer { bytes in
            var added = unsafe cdnstap_message()
            unsafe (added.bytes, added.length) = (bytes.baseAddress, bytes.count)
            unsafe (added.address_high, added.address_low) = (exchange.client.high, exchange.client.low)
            unsafe added.port = exchange.client.port
            unsafe added.is_ipv6 = exchange.client.family == .ipv6 ? 1 : 0
            unsafe added.protocol = exchange.transport.protocolOfDnstap
            unsafe added.is_response = responded == nil ? 0 : 1
            unsafe (added.queried, added.responded) = (exchange.queried, responded ?? 0)
            unsafe cdnstap_add(tap, UInt32(clamping: producer), &added)
        }
    }

    /// The time of day of instants, as it is now.
    struct TimeOfDay {
        /// Nanoseconds between the origin of instants and 1970.
        private let origin: Int64

        init() {
            var time = timespec()
            unsafe clock_gettime(CLOCK_REALTIME, &time)
            let now = Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
            origin = now &- Instant.bootTime.nanoseconds
        }

        /// In nanoseconds since 1970.
        subscript(instant: Instant) -> UInt64 { UInt64(clamping: origin &+ instant.nanoseconds) }
    }
}

extension Transport {
    /// The value of dnstap's `SocketProtocol`.
    fileprivate var protocolOfDnstap: UInt8 {
        switch self {
        case .udp: 1
        case .tcp: 2
        case .tls: 3
        case .https: 4
        }
    }
}
