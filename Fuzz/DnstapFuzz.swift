// Any bytes from a collector of dnstap, after which it says no more: no message counts as sent unless they begin with the
// control frame by which a collector accepts (Frame Streams: an escape, a length, ACCEPT), and the end comes at once.

@testable import DNSServer
import DNSWire
import Foundation
import Glibc
@testable import Platform

func fuzzDnstap(_ input: [UInt8]) {
    guard let tap = try? Dnstap(to: .unix(Collector.path), identity: "here", version: "1", producers: 1) else {
        preconditionFailure("no tap")
    }
    Collector.shared.meet(saying: input)
    guard let client = SocketAddress("192.0.2.1:53") else { preconditionFailure("no address") }
    let exchange = Dnstap.Exchange(client: client, transport: .udp, queried: 1)
    usleep(1_000)
    for _ in 0..<3 { tap.add([0, 1, 2].span, exchange, by: 0) }
    // While the tap's thread is about to wait it does not notice that it is to end, for a second.
    usleep(1_000)
    tap.stop()
    let (sent, dropped) = tap.counts
    precondition(sent + dropped == 3, "messages are lost, or come twice")
    let received = Collector.shared.frames()
    // READY and START; of a tap that has begun, then the messages, and STOP.
    precondition(received == (received < 2 ? 1 : 3 + sent), "\(received) frames with \(sent) messages")
    precondition(received < 2 || begins(input), "it takes something else for ACCEPT")
    Collector.shared.leave()
}

/// Whether bytes begin with a control frame of type ACCEPT that is whole.
private func begins(_ bytes: [UInt8]) -> Bool {
    func number(at place: Int) -> Int { bytes[place..<(place + 4)].reduce(0) { $0 << 8 | Int($1) } }
    guard bytes.count >= 12, number(at: 0) == 0, (4...512).contains(number(at: 4)) else { return false }
    return bytes.count >= 8 + number(at: 4) && number(at: 8) == 1
}

/// The collector's end.
private final class Collector: @unchecked Sendable {
    static let path = NSTemporaryDirectory() + "dnstap-fuzz-\(getpid()).sock"
    static let shared = Collector()
    private let listener: Int32
    private var connection: Int32 = -1

    private init() {
        guard let made = try? UnixListener(Self.path), let descriptor = made.takeDescriptor() else {
            preconditionFailure("no collector")
        }
        listener = descriptor.release()
        _ = fcntl(listener, F_SETFL, 0)
        atexit { unlink(Collector.path) }
    }

    /// Takes the connection, and says this, and no more.
    func meet(saying bytes: [UInt8]) {
        connection = accept(listener, nil, nil)
        precondition(connection >= 0, "no connection")
        // More than a socket holds is not read in one go, and an early end of the other end is no signal.
        _ = send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
        shutdown(connection, Int32(SHUT_WR))
    }

    /// How many whole frames the other end, which has stopped, has sent.
    func frames() -> Int {
        var received: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1_024)
        while case let count = recv(connection, &part, part.count, 0), count > 0 { received += part[..<count] }
        func number(at place: Int) -> Int { received[place..<(place + 4)].reduce(0) { $0 << 8 | Int($1) } }
        var (place, frames) = (0, 0)
        while place + 8 <= received.count {
            // A control frame has an escape before its length.
            let isControl = number(at: place) == 0
            let end = isControl ? place + 8 + number(at: place + 4) : place + 4 + number(at: place)
            guard end <= received.count else { break }
            (place, frames) = (end, frames + 1)
        }
        return frames
    }

    /// Ends the connection, and those that the other end, which has stopped, has tried since: the next one would meet them.
    func leave() {
        close(connection)
        _ = fcntl(listener, F_SETFL, O_NONBLOCK)
        while case let next = accept(listener, nil, nil), next >= 0 { close(next) }
        _ = fcntl(listener, F_SETFL, 0)
    }
}
