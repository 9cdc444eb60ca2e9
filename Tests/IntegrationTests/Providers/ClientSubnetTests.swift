import TestServers
import Testing

extension Integration {
    /// Clients of two networks ask one daemon that sends their networks to its vendor.
    @Suite(.requires(.networkNamespaces))
    struct ClientSubnetTests {
        /// Two of one network, and one of another.
        private static let clients = ["198.51.100.7", "198.51.100.8", "198.51.101.7"]
        private static let server = "198.51.102.1"

        private func zone(_ address: String) -> FakeZone { FakeZone("www.example.com", a: [address]) }

        @Test(arguments: [["+tcp"], ["+notcp", "+noedns"]])
        func `each network gets the vendor's answer for it, and no other network's`(options: [String]) throws {
            let host = try ClientHost(addresses: Self.clients + [Self.server])
            let stage = try Stage(
                .aliyun, zone("192.0.2.1"), provider: "client_subnet = \"client/24\"", on: [Self.server, "127.0.0.1"],
                listen: "allow = [\"198.51.100.0/22\", \"127.0.0.0/8\"]", inside: host)
            func ask(_ client: String?, _ more: String...) throws -> [String] {
                let server = client == nil ? stage.daemon.addresses[1] : stage.daemon.addresses[0]
                return try Dig(
                    server, "www.example.com", "A", options + more + (client.map { ["-b", $0] } ?? []),
                    namespace: host.namespace
                ).addresses
            }
            #expect(try ask(Self.clients[0]) == ["192.0.2.1"])
            stage.vendor.zone = zone("192.0.2.2")
            #expect(try ask(Self.clients[2]) == ["192.0.2.2"])
            stage.vendor.zone = zone("192.0.2.3")
            #expect(try ask(nil) == ["192.0.2.3"])
            for _ in 0..<2 {
                #expect(try ask(Self.clients[0]) == ["192.0.2.1"])
                #expect(try ask(Self.clients[1]) == ["192.0.2.1"])
                #expect(try ask(Self.clients[2]) == ["192.0.2.2"])
                #expect(try ask(nil) == ["192.0.2.3"])
            }
            if !options.contains("+noedns") {
                // A client that forbids sending its network is answered as one that has none.
                #expect(try ask(Self.clients[0], "+subnet=0.0.0.0/0") == ["192.0.2.3"])
            }
            #expect(stage.vendor.requests.map { $0.parameters["ip"] } == ["198.51.100.0", "198.51.101.0", nil])
        }
    }
}
