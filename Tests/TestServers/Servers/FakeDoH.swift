import Foundation
import TestSupport

/// A DoH service over HTTP/2 and TLS that misbehaves on command (`Tests/Servers/doh.py`), for all names or some; killed
/// when the last reference is released.
package final class FakeDoH: Sendable {
    /// How it treats a request.
    package enum Behaviour: Sendable, Equatable {
        case answer
        /// The proper response after this time.
        case delay(Duration)
        /// No response, until another behaviour is set.
        case hang
        /// As `hang`, with ten PINGs a second.
        case pings
        /// The head of a response, and its body byte by byte without an end.
        case drip
        /// This status with a short body.
        case status(Int)
        /// A body that is not a DNS message.
        case garbage
        /// The proper response with an additional record of a type with names in its RDATA, which cannot be read.
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

    /// The connections on which it does so.
    package enum Reach: String, Sendable {
        case everywhere
        /// Connections that exist when the order is given; later ones are served properly.
        case existing
    }

    /// A request that was received.
    package struct Request: Sendable, Hashable {
        /// Counted from 1.
        package let connection: Int
        /// The index of the port, from 0.
        package let port: Int
        /// In lower case.
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

    /// Its answer to A of every name; other types have no records.
    package static let address = "192.0.2.1"

    /// The ports on which it listens, on 127.0.0.1.
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
    ///   - ports: the number of its addresses.
    package init(ttl: Int = 60, ports count: Int = 1) throws {
        certificates = try TestCertificates()
        leaf = try certificates.leaf(addresses: ["127.0.0.1"])
        process = try ChildProcess(
            server: [
                "python3", ScriptServer.path(of: "doh.py"), leaf.certificate, leaf.key, Self.address, "\(ttl)",
                "\(count)",
            ],
            until: "\n")
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

    /// Sets how requests are treated: for all names, or for those that contain this label. Hanging requests are then
    /// treated again. In force when this returns.
    package func behave(_ behaviour: Behaviour, with label: String = "*", _ reach: Reach = .everywhere) throws {
        _ = try obey("behave \(label) \(reach.rawValue) \(behaviour.order)")
    }

    /// Breaks all connections, and refuses further ones.
    package func close() throws { _ = try obey("close") }

    /// Accepts connections again, on the same ports.
    package func open() throws { _ = try obey("open") }

    /// The number of connections that it has accepted.
    package var connections: Int { get throws { try log.connections } }

    /// All requests so far.
    package var requests: [Request] { get throws { try log.requests.map(\.request) } }

    private var log: Log { get throws { try JSONDecoder().decode(Log.self, from: Data(obey("log"))) } }

    /// Sends one order.
    ///
    /// - Returns: the line of the response.
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
