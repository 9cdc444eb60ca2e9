import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// Listen addresses that the machine gets later.
    @Suite(.requires(.networkNamespaces))
    struct AbsentAddressTests {
        @Test func `an address that is not there yet takes no other down, and is served once it is there`() throws {
            let namespace = try NetworkNamespace()
            let hosts = ["127.0.0.1", "10.9.0.53", "fd09::53"]
            let daemon = try Daemon(
                DaemonConfiguration.aliyun("http://127.0.0.1:9")
                    + DaemonConfiguration.rest(control: DaemonConfiguration.ownSocket),
                on: hosts, port: 53, listen: "allow = [\"0.0.0.0/0\", \"::/0\"]", namespace: namespace)
            for address in daemon.addresses.dropFirst() {
                #expect(daemon.waitForLog { $0.contains("no interface of this machine has \(address) yet") })
            }
            #expect(try answers(daemon.addresses[0], in: namespace))
            #expect(
                try daemon.status().contains(
                    "127.0.0.1:53, 10.9.0.53:53 (not on this machine yet), [fd09::53]:53 (not on this machine yet)"))
            try namespace.addAddress("10.9.0.53/32", to: "lo")
            try namespace.addAddress("fd09::53/128", to: "lo")
            for address in daemon.addresses { #expect(try answers(address, in: namespace), "\(address)") }
            #expect(try daemon.status().contains("127.0.0.1:53, 10.9.0.53:53, [fd09::53]:53\n"))
        }

        /// Whether a server answers there over UDP and TCP.
        private func answers(_ address: TestAddress, in namespace: NetworkNamespace) throws -> Bool {
            let query = TestMessage.query("version.bind", RecordType.txt, class: 3)
            return try namespace.inside {
                try TestDNSClient(address).ask(query).answers.count == 1
                    && TestTCPClient(address).ask(query).answers.count == 1
            }
        }
    }
}
