import TestServers
import TestSupport
import Testing

extension Integration {
    /// What `httpdnsd doctor` finds in a shared cache, with a real Redis.
    struct FleetDoctorTests {
        private static func configuration(control: String = "") -> String {
            Daemon.listenTable([TestAddress("127.0.0.1", port: 5_399)])
                + DaemonConfiguration.aliyun("http://127.0.0.1:9") + DaemonConfiguration.rest(control: control)
        }

        /// What `doctor` finds itself, while no server runs.
        private func asked(_ url: String, _ authority: String = "") throws -> String {
            let directory = try TemporaryDirectory()
            let file = try directory.write(
                Self.configuration() + """
                    [cache.shared]
                    url = "\(url)"
                    key = "\(FleetStage.secret)"
                    timeout = "500ms"
                    ca_file = "\(authority)"

                    """, to: "httpdnsd.toml")
            let output = try Daemon.run(["doctor", "--config", file]).output
            return output.split(separator: "\n").first { $0.contains("  shared  ") }.map(String.init) ?? output
        }

        @Test func `without a server it is asked from here: one that refuses or is gone is found`() throws {
            let well = "ok  shared       the shared cache answers and takes answers, or none is configured"
            let (redis, stage) = (try RedisServer(password: "correct"), try FleetStage())
            #expect(try asked(redis.url) == well)
            #expect(try redis.run("DBSIZE") == "0")
            let certificate = try stage.certificate()
            let encrypted = try RedisServer(tls: certificate)
            #expect(try asked(encrypted.url, certificate.authority) == well)
            let wrong = try asked(redis.url.replacing("correct", with: "wrong"))
            #expect(wrong.contains("it refuses AUTH: WRONGPASS"), "\(wrong)")
            try redis.run(words: ["ACL", "SETUSER", "default", "-set"])
            let refused = try asked(redis.url)
            #expect(refused.contains("refuses SET NX GET: NOPERM"), "\(refused)")
            try redis.kill()
            let gone = try asked(redis.url)
            #expect(gone.contains("cannot be asked from here: "), "\(gone)")
        }
    }
}
