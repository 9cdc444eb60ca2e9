import TestServers
import Testing

extension Integration {
    /// A hijacked LocalDNS that answers every name with an address of its own: the reason this program exists.
    @Suite(.serialized)
    struct HijackedResolverTests {
        private static let forged = ["203.0.113.66", "2001:db8:bad::66"]
        private static let zone = FakeZone([
            "*.example.com": .init(a: ["192.0.2.1"], aaaa: ["2001:db8::1"], ttl: 60),
            "four.example.com": .init(a: ["192.0.2.4"], ttl: 60),
        ])

        private func stage(_ route: String = "") throws -> Stage {
            let stage = try Stage(.aliyun, Self.zone, route: route)
            stage.localDNS.behave(.lie(Self.forged))
            return stage
        }

        @Test func `a protected name never gets the forged address while HTTPDNS works`() throws {
            let stage = try stage()
            let client = try stage.daemon.client()
            for number in 0..<100 {
                #expect(try client.ask("n\(number).example.com").addresses == ["192.0.2.1"])
                #expect(try client.ask("n\(number).example.com", RecordType.aaaa).addresses == ["2001:db8::1"])
            }
            #expect(stage.localDNS.questionCount() == 0)
        }

        @Test func `nor when HTTPDNS is slow`() throws {
            let stage = try stage()
            stage.vendor.misbehave(.delay(.milliseconds(250)))
            #expect(try stage.ask("www.example.com").addresses == ["192.0.2.1"])
        }

        @Test func `nor when one of the vendor's replies is lost`() throws {
            let stage = try stage()
            #expect(try stage.ask("www.example.com").addresses == ["192.0.2.1"])
            stage.vendor.closeConnections()
            #expect(try stage.ask("other.example.com").addresses == ["192.0.2.1"])
        }

        @Test func `a family that the vendor has no records of is NODATA, not a forged answer`() throws {
            let stage = try stage()
            #expect(try stage.ask("four.example.com").addresses == ["192.0.2.4"])
            let reply = try stage.ask("four.example.com", RecordType.aaaa)
            #expect(reply.rcode == ResponseCode.noError)
            #expect(reply.answers.isEmpty)
            #expect(reply.soa != nil)
        }

        @Test func `a name that is not protected does get the forged address`() throws {
            let stage = try stage(DaemonConfiguration.route(bypass: ["lan.example.com"]))
            #expect(try stage.ask("x.lan.example.com").addresses == [Self.forged[0]])
            #expect(try stage.ask("x.lan.example.com", RecordType.aaaa).addresses == [Self.forged[1]])
        }
    }
}
