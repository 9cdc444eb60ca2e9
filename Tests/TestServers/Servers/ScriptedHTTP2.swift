import Foundation
import TestSupport

/// An HTTP/2 server over TLS on 127.0.0.1 with a chosen misbehaviour (`Tests/Servers/http2.py`); killed when the last
/// reference is released.
package final class ScriptedHTTP2: Sendable {
    package enum Behaviour: String, Sendable {
        case answer, fail, slow, hang, ping, flood, complain, `break`, goodbye, refuse, downgrade, cut, confuse, chaos,
            doh
    }

    package let port: UInt16
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    /// Starts it, and waits until it listens.
    ///
    /// - Parameters:
    ///   - streams: the number of concurrent requests per connection that it announces.
    ///   - behaviours: of one connection after the other; the last one is that of all further ones.
    package init(_ leaf: TestCertificates.Leaf, streams: Int = 100, _ behaviours: [Behaviour]) throws {
        directory = try TemporaryDirectory()
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Servers/http2.py").standardized.path
        process = try ChildProcess(
            ["python3", script, directory.path, leaf.certificate, leaf.key, "\(streams)"] + behaviours.map(\.rawValue))
        let deadline = ContinuousClock.now + .patience
        while process.isRunning, ContinuousClock.now < deadline {
            if let port = UInt16(directory.read("port")) {
                self.port = port
                return
            }
            Thread.sleep(forTimeInterval: 0.005)
        }
        throw TestFailure("the server did not start: \(process.errors)")
    }

    /// The number of connections that it has accepted.
    package var connections: Int { lines(of: "connections") }

    /// The number of connections on which the client has read its GOAWAY (`goodbye`), or that it has ended with one
    /// (`complain`).
    package var goodbyes: Int { lines(of: "goodbyes") }

    private func lines(of file: String) -> Int { directory.read(file).split(separator: "\n").count }
}
