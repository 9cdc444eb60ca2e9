import TestServers
import Testing

extension Integration {
    /// A shared cache under a signed policy: what an answer depends on is that of the policy too.
    @Suite(.serialized)
    struct SharedPolicyTests {
        private let stage: FleetStage
        private let redis: RedisServer
        private let signer: PolicySigner

        init() throws {
            stage = try FleetStage()
            redis = try RedisServer()
            signer = try PolicySigner()
        }

        /// A daemon in which a policy with these lines is in force.
        private func daemon(_ lines: String) throws -> Daemon {
            let file = try signer.sign(PolicySigner.text(serial: 1, lines))
            let daemon = try stage.daemon(
                redis.url,
                lines: """
                    timeout = "500ms"
                    [policy]
                    url = "file://\(file)"
                    public_key = ["\(signer.publicKey)"]
                    """)
            #expect(daemon.waitForLog { $0.contains("is taken: serial 1") }, "\(daemon.errors)")
            return daemon
        }

        private static func bogus(_ address: String) -> String { "[answers]\nbogus = [\"\(address)\"]\n" }

        private func ask(_ daemon: Daemon) throws {
            #expect(try daemon.client().ask("www.example.com").addresses == ["192.0.2.1"])
        }

        @Test func `daemons share answers under policies that make the same ones, and none under others`() throws {
            let first = try daemon(Self.bogus("203.0.113.1"))
            let same = try daemon(Self.bogus("203.0.113.1") + "[route]\nbypass = [\"example.org\"]\n")
            let other = try daemon(Self.bogus("203.0.113.2"))
            try ask(first)
            #expect(try redis.waitForAnswers(1))
            try ask(same)
            #expect(stage.vendor.callCount() == 1)
            try ask(other)
            #expect(try redis.waitForAnswers(2))
            #expect(stage.vendor.callCount() == 2)
        }
    }
}
