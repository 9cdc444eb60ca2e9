import TestSupport
import Testing

extension Integration {
    /// What `httpdnsd doctor` finds in a shared cache, with a real Redis.
    @Suite(.serialized)
    struct FleetDoctorTests {
        /// What `doctor` prints of the shared cache after a fault.
        private func finding(
            _ fault: (RedisServer) throws -> Void, _ line: String
        ) throws -> [Substring] {
            let (stage, redis, directory) = (try FleetStage(), try RedisServer(), try TemporaryDirectory())
            let control = directory.path + "/control.sock"
            let daemon = try stage.daemon(redis.url, control: control)
            _ = try daemon.client().ask("before.many.example.com")
            try fault(redis)
            for number in 0..<6 { _ = try daemon.client().ask("n\(number).many.example.com") }
            #expect(line.isEmpty || daemon.waitForLog { $0.contains(line) })
            let file = try directory.write(
                Daemon.listenTable([TestAddress("127.0.0.1", port: 5_399)])
                    + DaemonConfiguration.aliyun("http://127.0.0.1:9") + DaemonConfiguration.rest(control: control),
                to: "httpdnsd.toml")
            let output = try Daemon.run(["doctor", "--config", file]).output
            return output.split(separator: "\n").filter { $0.contains("shared") }
        }

        @Test func `a Redis that answers and takes answers is well`() throws {
            #expect(
                try finding({ _ in }, "")
                    == ["ok  shared       the shared cache answers and takes answers, or none is configured"])
        }

        @Test func `a Redis whose user may not write is found`() throws {
            let lines = try finding(
                { try $0.run(words: ["ACL", "SETUSER", "default", "-set"]) }, "takes no answers: ")
            #expect(lines.first?.contains("its user may not write") == true, "\(lines)")
        }

        @Test func `a Redis that is gone is found`() throws {
            let lines = try finding({ try $0.kill() }, "is in backoff")
            #expect(lines.first?.contains("is not asked, and every miss asks a provider: ") == true, "\(lines)")
        }
    }
}
