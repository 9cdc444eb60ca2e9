// Any bytes from a collector of dnstap, after which it says no more: no message counts as sent unless they begin with the
// control frame by which a collector accepts (Frame Streams: an escape, a length, ACCEPT), and the end comes at once.

@testable import DNSServer
import Foundation
import Glibc
@testable import Platform

func fuzzDnstap(_ input: [UInt8]) {
    guard let tap = try? Dnstap(to: .unix(Collector.path), identity: "here", version: "1", producers: 1) else {
        preconditionFailure("no tap")
    }
    let accepted = Collector.shared.meet(saying: input)
    if accepted {
        precondition(begins(input), "it takes something else for ACCEPT")
        guard let client = SocketAddress("192.0.2.1:53") else { preconditionFailure("no address") }
        let exchange = Dnstap.Exchange(client: client, transport: .udp, queried: 1)
        for _ in 0..<3 { tap.add(query: [0, 1, 2].span, exchange, by: 0) }
    }
    tap.stop()
    let (sent, dropped) = tap.counts
    precondition(sent + dropped == (accepted ? 3 : 0), "messages are lost, or come twice")
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

    /// Takes the connection, and says this. Returns whether the other end goes on to send data: with its second control
    /// frame, START; else it closes.
    func meet(saying bytes: [UInt8]) -> Bool {
        connection = accept(listener, nil, nil)
        precondition(connection >= 0, "no connection")
        // More than a socket holds is not read in one go, and an early end of the other end is no signal.
        _ = send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
        shutdown(connection, Int32(SHUT_WR))
        var received: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1_024)
        while true {
            let count = recv(connection, &part, part.count, 0)
            guard count > 0 else { return false }
            received += part[..<count]
            // READY and START, each an escape and its length before it.
            var (place, frames) = (0, 0)
            while place + 8 <= received.count {
                let length = received[(place + 4)..<(place + 8)].reduce(0) { $0 << 8 | Int($1) }
                guard place + 8 + length <= received.count else { break }
                (place, frames) = (place + 8 + length, frames + 1)
            }
            if frames >= 2 { return true }
        }
    }

    func leave() {
        close(connection)
        connection = -1
    }
}
