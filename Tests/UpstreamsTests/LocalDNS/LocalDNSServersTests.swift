import DNSWire
import Glibc
import Platform
import TestSupport
import Testing

@testable import Upstreams

struct LocalDNSServersTests {
    private static let loopback = [SocketAddress(.v4(0x7f00_0001), port: 53), SocketAddress(.v6(1), port: 53)]

    /// The servers found in lists as files: of systemd-resolved, of NetworkManager, and resolv.conf.
    @discardableResult private func found(
        systemd: String? = nil, networkManager: String? = nil, resolvConf: String? = nil, replaced: String? = nil,
        listeners: [SocketAddress] = loopback
    ) throws -> [String] {
        let files = [
            "systemd": systemd, "nm": networkManager, "resolv": resolvConf, "resolv.before-httpdnsd": replaced,
        ].compactMapValues(\.self)
        return try LocalDNSServers.find(
            listeners: listeners, files: ["systemd", "nm", "resolv", "resolv.before-httpdnsd"],
            readFile: { path throws(SystemError) in
                guard let text = files[path] else { throw SystemError(code: ENOENT, operation: "open \(path)") }
                return Array(text.utf8)
            },
            localAddresses: { Set(["127.0.0.1", "::1", "10.0.0.7", "fd00::7"].compactMap { IPAddress($0) }) }
        ).map(\.description)
    }

    @Test func `the list of systemd-resolved comes first, then NetworkManager's, then resolv_conf`() throws {
        let lists = ["nameserver 192.0.2.1", "nameserver 192.0.2.2", "nameserver 192.0.2.3"]
        #expect(try found(systemd: lists[0], networkManager: lists[1], resolvConf: lists[2]) == ["192.0.2.1:53"])
        #expect(try found(networkManager: lists[1], resolvConf: lists[2]) == ["192.0.2.2:53"])
        #expect(try found(resolvConf: lists[2]) == ["192.0.2.3:53"])
    }

    @Test func `where resolv_conf names only ourselves, what it was before we replaced it decides`() throws {
        let replaced = "nameserver 192.0.2.9"
        #expect(try found(resolvConf: "nameserver 127.0.0.1", replaced: replaced) == ["192.0.2.9:53"])
        #expect(try found(resolvConf: "nameserver 192.0.2.1", replaced: replaced) == ["192.0.2.1:53"])
        #expect(throws: LocalDNSServersError.self) {
            try found(systemd: "nameserver 127.0.0.1", replaced: "nameserver 127.0.0.53")
        }
    }

    @Test func `our own entries are left out`() throws {
        let text = "nameserver 127.0.0.1\nnameserver ::1\nnameserver 192.0.2.1"
        #expect(try found(resolvConf: text) == ["192.0.2.1:53"])
    }

    @Test(arguments: ["127.0.0.1", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1"])
    func `a resolv_conf that names only ourselves is an error that says what to write`(address: String) throws {
        let error = #expect(throws: LocalDNSServersError.self) { try found(resolvConf: "nameserver \(address)") }
        #expect(
            error?.description
                == "no resolver of the network found (systemd: not there; nm: not there; resolv: only this server itself);"
                + #" write its address in the configuration: localdns.servers = ["192.0.2.53"]"#)
    }

    @Test func `a list that cannot be read is said to be that, and not to be absent`() throws {
        let directory = try TemporaryDirectory()
        let pipe = directory.path + "/pipe"
        try #require(mkfifo(pipe, 0o600) == 0)
        let error = #expect(throws: LocalDNSServersError.self) {
            try LocalDNSServers.find(
                listeners: Self.loopback, files: ["/nowhere", pipe, directory.path, "/dev/null/resolv.conf"],
                localAddresses: { [] })
        }
        let findings =
            "(/nowhere: not there; \(pipe): it is a pipe, and a file is needed; \(directory.path): Is a directory; "
            + "/dev/null/resolv.conf: Not a directory)"
        #expect(error?.description.contains(findings) == true, "\(error?.description ?? "")")
    }

    @Test(arguments: ["127.0.0.1", "127.0.0.53", "10.0.0.7"])
    func `a wildcard listener is every local address of its family`(address: String) throws {
        let wildcard = [SocketAddress(.v4(0), port: 53)]
        let text = "nameserver \(address)\nnameserver fd00::7\nnameserver 192.0.2.1"
        #expect(try found(resolvConf: text, listeners: wildcard) == ["[fd00::7]:53", "192.0.2.1:53"])
    }

    @Test func `another port than 53 is not what resolv_conf means`() throws {
        let listeners = [SocketAddress(.v4(0x7f00_0001), port: 5_353)]
        #expect(try found(resolvConf: "nameserver 127.0.0.1", listeners: listeners) == ["127.0.0.1:53"])
    }

    @Test func `the stub of systemd-resolved is used only when its own list does not exist`() throws {
        let stub = "nameserver 127.0.0.53"
        #expect(try found(resolvConf: stub) == ["127.0.0.53:53"])
        #expect(throws: LocalDNSServersError.self) {
            try found(systemd: "nameserver 127.0.0.1", resolvConf: stub)
        }
    }

    @Test func `the addresses of the interfaces hold loopback`() {
        #expect(interfaceAddresses().contains(.v4(0x7f00_0001)))
    }
}
