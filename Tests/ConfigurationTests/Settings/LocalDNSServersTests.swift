import DNSWire
import Testing

@testable import Configuration

/// The shapes of `localdns.servers`.
struct LocalDNSServersTests {
    private func groups(_ text: String, _ environment: [String: String] = [:]) throws -> [[String]]? {
        let file = "[route]\nmode = \"localdns-only\"\n[localdns]\nservers = " + text
        return try accepted(file, environment: environment).configuration.localDNS.groups?.map { $0.map(\.description) }
    }

    @Test func `auto names no server, a list of servers is one group, and a list of lists a group each`() throws {
        #expect(try groups("\"auto\"") == nil)
        #expect(try groups("[\"192.0.2.1\", \"192.0.2.2:5353\"]") == [["192.0.2.1:53", "192.0.2.2:5353"]])
        let text = "[[\"10.8.0.1\"],\n  [\"192.168.1.1\", \"192.168.1.2\"]]"
        #expect(try groups(text) == [["10.8.0.1:53"], ["192.168.1.1:53", "192.168.1.2:53"]])
        #expect(try groups("[[\"10.8.0.1\"]]") == [["10.8.0.1:53"]])
    }

    @Test func `a group whose variable is empty is left out`() throws {
        let text = "[[\"${VPN:-}\"], [\"192.168.1.1\"]]"
        #expect(try groups(text) == [["192.168.1.1:53"]])
        #expect(
            try groups(text, ["VPN": "10.8.0.1, 10.8.0.2"]) == [["10.8.0.1:53", "10.8.0.2:53"], ["192.168.1.1:53"]])
    }

    @Test(arguments: ["[\"192.0.2.1\"]", "[[\"192.0.2.1\"], [\"192.0.2.2\", \"192.0.2.3\"]]", "\"auto\""])
    func `servers are written as they are read`(text: String) throws {
        let file = "[route]\nmode = \"localdns-only\"\n[localdns]\nservers = " + text
        #expect(Kind.localDNSServers.write(try accepted(file).configuration.localDNS.groups) == text)
    }
}
