import Foundation

/// A DoH service over HTTP/2 and TLS that misbehaves on command (`Tests/Servers/doh.py`), towards all names or some;
/// killed when the last reference goes.
package final class FakeDoH: Sendable {
    /// What it does with a request.
    package enum Behaviour: Sendable, Equatable {
        case answer
        /// The proper reply, so much later.
        case delay(Duration)
        /// No reply, until it behaves in another way.
        case hang
        /// As `hang`, with ten PINGs a second meanwhile.
        case pings
        /// The head of a reply, and its body byte by byte without an end.
        case drip
        /// This status with a short body.
        case status(Int)
        /// A body that is no DNS message.
        case garbage
        /// The proper reply, and in it a record of a type with names in its RDATA, which cannot be read.
        case opaqueRecord
        /// RST_STREAM.
        case reset

        fileprivate var order: String {
            switch self {
            case .answer: "answer"
            case .delay(let duration): "delay \(duration.inSeconds)"
            case .hang: "hang"
            case .pings: "ping"
            case .drip: "drip"
            case .status(let status): "status \(status)"
            case .garbage: "garbage"
            case .opaqueRecord: "opaque"
            case .reset: "reset"
            }
        }
    }

    /// On which connections it does so.
    package enum Reach: String, Sendable {
        case everywhere
        /// Those that exist when the order comes; later ones are served properly.
        case existing
    }

    /// A request as it came.
    package struct Request: Sendable, Hashable {
        /// Counted from 1.
        package let connection: Int
        /// Which of its ports, counted from 0.
        package let port: Int
        /// Lower-cased.
        package let name: String
        package let type: UInt16
    }

    private struct Log: Decodable {
        var connections: Int
        var requests: [Item]

        struct Item: Decodable {
            let request: Request

            init(from decoder: any Decoder) throws {
                var list = try decoder.unkeyedContainer()
                request = Request(
                    connection: try list.decode(Int.self), port: try list.decode(Int.self),
                    name: try list.decode(String.self), type: try list.decode(UInt16.self))
            }
        }
    }

    /// What it answers to A, with every name; other types are empty.
    package static let address = "192.0.2.1"

    /// Where it listens, on 127.0.0.1.
    package let ports: [UInt16]
    private let certificates: TestCertificates
    private let leaf: TestCertificates.Leaf
    private let process: ChildProcess
    private let orders: TestSocket
    private let ordering = NSLock()

    /// Starts it, and waits until it listens.
    ///
    /// - Parameters:
    ///   - ttl: of its records, in seconds.
    ///   - ports: how many addresses it has.
    package init(ttl: Int = 60, ports count: Int = 1) throws {
        certificates = try TestCertificates()
        leaf = try certificates.leaf(addresses: ["127.0.0.1"])
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Servers/doh.py").standardized.path
        process = try ChildProcess(
            ["python3", script, leaf.certificate, leaf.key, Self.address, "\(ttl)", "\(count)"])
        guard process.waitForOutput(.patience, { output, _ in output.hasSuffix("\n") }) else {
            throw TestFailure("the server did not start: \(process.errors)")
        }
        var numbers = process.output.split(whereSeparator: \.isWhitespace).compactMap { UInt16($0) }
        let last = numbers.popLast() ?? 0
        ports = numbers
        orders = try TestSocket.connection(to: TestAddress("127.0.0.1", port: last), from: nil)
    }

    /// A `[[provider]]` for it.
    ///
    /// - Parameter extra: more lines of the table.
    package func table(_ name: String = "doh", _ extra: String = "") -> String {
        DaemonConfiguration.doh(
            "https://127.0.0.1:\(ports[0])", name: name,
            """
            addresses = \(DaemonConfiguration.list(ports.map { "127.0.0.1:\($0)" }))
            ca_file = "\(certificates.authority)"
            \(extra)
            """)
    }

    /// Sets what is done with requests for all names, or for those that hold this label; what hangs is taken up again.
    /// In force once this returns.
    package func behave(_ behaviour: Behaviour, with label: String = "*", _ reach: Reach = .everywhere) throws {
        _ = try obey("behave \(label) \(reach.rawValue) \(behaviour.order)")
    }

    /// Breaks all connections, and refuses further ones.
    package func close() throws { _ = try obey("close") }

    /// Takes connections again, at the same ports.
    package func open() throws { _ = try obey("open") }

    /// How many connections it has accepted.
    package var connections: Int { get throws { try log.connections } }

    /// All requests so far.
    package var requests: [Request] { get throws { try log.requests.map(\.request) } }

    private var log: Log { get throws { try JSONDecoder().decode(Log.self, from: Data(obey("log"))) } }

    /// Sends one order.
    ///
    /// - Returns: the line that comes back.
    private func obey(_ order: String) throws -> [UInt8] {
        try ordering.withLock {
            try orders.write(Array((order + "\n").utf8))
            var line: [UInt8] = []
            while line.last != UInt8(ascii: "\n") {
                guard let (bytes, _) = orders.receive(.patience), !bytes.isEmpty else {
                    throw TestFailure("no reply to \(order): \(process.errors)")
                }
                line += bytes
            }
            return line
        }
    }
}
