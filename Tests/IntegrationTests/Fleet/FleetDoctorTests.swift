import TestServers
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

        /// What `doctor` finds itself, while no server runs.
        private func asked(_ url: String, _ authority: String = "") throws -> String {
            let directory = try TemporaryDirectory()
            let file = try directory.write(
                Daemon.listenTable([TestAddress("127.0.0.1", port: 5_399)])
                    + DaemonConfiguration.aliyun("http://127.0.0.1:9") + DaemonConfiguration.rest() + """
                        [cache.shared]
                        url = "\(url)"
                        key = "\(FleetStage.secret)"
                        timeout = "500ms"
                        ca_file = "\(authority)"

                        """, to: "httpdnsd.toml")
            let output = try Daemon.run(["doctor", "--config", file]).output
            return output.split(separator: "\n").first { $0.contains("  shared  ") }.map(String.init) ?? output
        }

        @Test func `without a server a Redis that answers is well, with TLS too, and nothing is left in it`() throws {
            let well = "ok  shared       the shared cache answers and takes answers, or none is configured"
            let (plain, stage) = (try RedisServer(password: "correct"), try FleetStage())
            #expect(try asked(plain.url) == well)
            #expect(try plain.run("DBSIZE") == "0")
            let certificate = try stage.certificate()
            let encrypted = try RedisServer(tls: certificate)
            #expect(try asked(encrypted.url, certificate.authority) == well)
        }

        @Test func `without a server a Redis that refuses the password or a command, or is gone, is found`() throws {
            let redis = try RedisServer(password: "correct")
            let wrong = try asked(redis.url.replacing("correct", with: "wrong"))
            #expect(wrong.contains("it refuses AUTH: WRONGPASS"), "\(wrong)")
            try redis.run(words: ["ACL", "SETUSER", "default", "-set"])
            let refused = try asked(redis.url)
            #expect(refused.contains("refuses SET NX GET: NOPERM"), "\(refused)")
            try redis.kill()
            let gone = try asked(redis.url)
            #expect(gone.contains("cannot be asked from here: "), "\(gone)")
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
