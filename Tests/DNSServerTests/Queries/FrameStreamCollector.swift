import DNSServer
import DNSWire
import Platform
import TestServers
import TestSupport

/// A collector of dnstap that a test reads itself: Frame Streams (https://farsightsec.github.io/fstrm/) over one connection.
final class FrameStreamCollector: Sendable {
    /// Types of control frames.
    private enum Control {
        static let accept: UInt8 = 1
        static let start: UInt8 = 2
        static let stop: UInt8 = 3
        static let ready: UInt8 = 4
        static let finish: UInt8 = 5
    }

    private let listener: TestSocket

    /// Begins to listen on loopback.
    init() throws { listener = try TestSocket.listener(TestAddress("127.0.0.1")) }

    var address: TestAddress { listener.localAddress }

    /// Takes one connection, and blocks until its client says that it is done.
    ///
    /// - Returns: its data frames.
    func frames() throws -> [[UInt8]] {
        guard let (socket, _) = listener.accept() else { throw TestFailure("no connection") }
        var received: [UInt8] = []
        func take(_ count: Int) throws -> [UInt8] {
            while received.count < count {
                guard let bytes = socket.receive(.patience)?.bytes, !bytes.isEmpty else {
                    throw TestFailure("the stream ends within a frame")
                }
                received += bytes
            }
            defer { received.removeFirst(count) }
            return Array(received.prefix(count))
        }
        func length() throws -> Int { try take(4).reduce(0) { $0 << 8 | Int($1) } }
        var frames: [[UInt8]] = []
        while true {
            let count = try length()
            guard count == 0 else {
                frames.append(try take(count))
                continue
            }
            let control = try take(try length())
            switch control.dropFirst(3).first {
            case Control.ready?:
                // The same types of content as were offered.
                let fields = control.dropFirst(4)
                try socket.write([0, 0, 0, 0, 0, 0, 0, UInt8(control.count), 0, 0, 0, Control.accept] + fields)
            case Control.start?: continue
            case Control.stop?:
                try socket.write([0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, Control.finish])
                return frames
            default: throw TestFailure("an unknown control frame")
            }
        }
    }

    /// What its client sent in one connection, such as `CQ UDP www.example`, and with the response code, `CR UDP www.example 0`.
    @concurrent
    func messages() async throws -> [String] {
        let frames = try await NamedThread.run("collector") { Result { try self.frames() } }.get()
        return try frames.map { frame in
            let message = try ProtobufFields(ProtobufFields(frame).bytes[14] ?? [])
            let isQuery = message.numbers[1] == 5
            let content = try TestMessage(decoding: message.bytes[isQuery ? 10 : 14] ?? [])
            let transports = ["UDP", "TCP", "DoT", "DoH"]
            let transport = transports[Int(message.numbers[3] ?? 0) - 1]
            let name = content.questions.first?.name ?? "-"
            return isQuery ? "CQ \(transport) \(name)" : "CR \(transport) \(name) \(content.rcode)"
        }
    }

    /// Returns once it is connected to this collector, which must be taking a connection.
    func connect(producers: Int) async throws -> Dnstap {
        guard let target = AddressAndPort("\(address)") else { throw TestFailure("not an address: \(address)") }
        let dnstap = try Dnstap(to: .tcp(target), identity: "host", version: "program 1", producers: producers)
        while dnstap.state != .connected { await Task.yield() }
        return dnstap
    }
}
