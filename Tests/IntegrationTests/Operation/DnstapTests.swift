import Foundation
import Glibc
import TestServers
import TestSupport
import Testing

extension Integration {
    /// `[log] dnstap`: every query and response, sent to a collector.
    struct DnstapTests {
        private let directory: TemporaryDirectory
        private let socket: String

        init() throws {
            directory = try TemporaryDirectory()
            socket = directory.path + "/tap.sock"
        }

        private func collector(_ file: String = "frames") throws -> DnstapCollector {
            try DnstapCollector("-u", socket, writing: "\(directory.path)/\(file)")
        }

        /// A daemon that sends to `target`; nil: to the socket.
        private func stage(_ target: String? = nil, listen: String = "") throws -> ControlStage {
            // The last table is [log].
            try ControlStage(extra: "dnstap = \"\(target ?? "unix:" + socket)\"\n", listen: listen)
        }

        /// A number of the status, or its text in quotes.
        private func status(_ stage: ControlStage, _ key: String) throws -> String {
            let tap = try stage.json("status")["dnstap"] as? [String: Any]
            return tap?[key].map { "\($0)" } ?? ""
        }

        /// Waits until a number of the status is at least this.
        private func wait(_ stage: ControlStage, _ key: String, _ least: Int) throws -> Bool {
            try eventually { try Int(status(stage, key)) ?? -1 >= least }
        }

        private func waitForConnection(_ stage: ControlStage, count: Int = 1) -> Bool {
            stage.daemon.waitForLog { $0.components(separatedBy: "\(socket) is connected").count > count }
        }

        /// To a collector at a Unix socket, and at a port.
        @Test(arguments: [false, true])
        func `every query and response is sent: hits, misses and refusals, over UDP and TCP`(isPort: Bool) throws {
            let port = "\(try FreePort.next())"
            let target = isPort ? "tcp:127.0.0.1:\(port)" : "unix:\(socket)"
            let collector =
                try isPort
                ? DnstapCollector("-a", "127.0.0.1", "-p", port, writing: directory.path + "/frames") : collector()
            let stage = try stage(target, listen: "allow = [\"127.0.0.1/32\"]")
            #expect(stage.daemon.waitForLog { $0.contains("\(target) is connected") })
            for _ in 0..<2 { _ = try stage.ask("www.example.com") }
            #expect(try stage.daemon.client(from: "127.0.0.9").ask("no.example").rcode == ResponseCode.refused)
            let connection = try stage.daemon.tcpClient()
            for _ in 0..<2 { _ = try connection.ask(.query("four.example.com")) }
            #expect(try wait(stage, "sent", 10))
            #expect(try status(stage, "dropped") == "0" && status(stage, "state") == "connected")
            func pairs(_ text: String, _ count: Int) -> [String] {
                ["CQ", "CR"].flatMap { Array(repeating: "\($0) \(text)", count: count) }
            }
            let expected =
                pairs("127.0.0.1 UDP \"www.example.com.\" IN A", 2) + pairs("127.0.0.9 UDP \"no.example.\" IN A", 1)
                + pairs("127.0.0.1 TCP \"four.example.com.\" IN A", 2)
            #expect(try collector.messages() == expected.sorted())
        }

        @Test func `what is queued when the server stops is still sent`() throws {
            let collector = try collector()
            let stage = try stage()
            #expect(waitForConnection(stage))
            _ = try stage.ask("four.example.com")
            #expect(try stage.daemon.stop() == 0)
            #expect(try collector.messages().count == 2)
        }

        @Test func `a collector gets messages once it is there, and when it comes back`() throws {
            let stage = try stage()
            #expect(stage.daemon.waitForLog { $0.contains("\(socket) cannot be reached: No such file or directory") })
            #expect(try stage.ask("www.example.com").rcode == ResponseCode.noError)
            #expect(try wait(stage, "dropped", 2))
            for round in 1...2 {
                let collector = try collector("frames\(round)")
                let before = try #require(Int(try status(stage, "sent")))
                let end = ContinuousClock.now + .patience
                var count = 0
                // The server learns that a collector has gone from what it does not take.
                repeat {
                    count += 2
                    _ = try stage.ask("four.example.com")
                } while try Int(status(stage, "sent")) == before && ContinuousClock.now < end
                let received = try collector.messages()
                #expect(!received.isEmpty && received.count <= count, "round \(round)")
                #expect(received.allSatisfy { $0.contains("four.example.com") })
            }
            #expect(waitForConnection(stage))
        }
    }
}
