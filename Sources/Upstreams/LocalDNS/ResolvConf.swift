package import DNSWire
import HTTPDNS
import Platform

/// The contents of a resolv.conf (resolv.conf(5)) that a forwarder needs: its `nameserver` lines, its search list, and
/// the option `use-vc`.
package struct ResolvConf: Hashable, Sendable {
    /// Usable servers, in order, all on port 53.
    package private(set) var servers: [LocalDNSServer] = []
    /// Domains that the C library appends to short names: those of the last `search` or `domain` line. Text that is no
    /// domain name, and the root, are left out.
    package private(set) var searchDomains: [Name] = []

    /// The most bytes that are read; the rest is ignored. A real file has some hundreds.
    package static let maximumSize = 64 << 10
    /// The most lines that are read.
    package static let maximumLines = 1_024

    /// Parses the bytes of a file. Unknown lines and comments (`#`, `;`) are ignored.
    ///
    /// An IPv6 zone (`fe80::1%eth0`, `fe80::1%3`) is stored for link-local addresses, which are skipped without one, and
    /// ignored for others.
    /// - Parameter interfaceName: the name of the interface with this index; nil when there is none now.
    package init(
        _ bytes: some Collection<UInt8>,
        interfaceName: (UInt32) -> String? = SocketAddress.interfaceName
    ) {
        var usesTCP = false
        let lines = bytes.prefix(Self.maximumSize).split(
            separator: UInt8(ascii: "\n"), maxSplits: Self.maximumLines, omittingEmptySubsequences: false)
        for line in lines.prefix(Self.maximumLines) {
            let content = line.prefix { $0 != UInt8(ascii: "#") && $0 != UInt8(ascii: ";") }
            let words = content.split { $0 == UInt8(ascii: " ") || (0x09...0x0d).contains($0) }
            guard let keyword = words.first.map({ String(decoding: $0, as: UTF8.self) }) else { continue }
            if keyword == "search" || keyword == "domain" {
                searchDomains = words.dropFirst().compactMap { try? Name(String(decoding: $0, as: UTF8.self)) }
                    .filter { !$0.isRoot }
            }
            if keyword == "options", words.dropFirst().contains(where: { $0.elementsEqual("use-vc".utf8) }) {
                usesTCP = true
            }
            guard keyword == "nameserver", words.count > 1 else { continue }
            if let server = Self.server(String(decoding: words[1], as: UTF8.self), interfaceName) {
                servers.append(server)
            }
        }
        // The option holds for all servers, wherever its line is.
        if usesTCP {
            servers = servers.map { LocalDNSServer($0.address, interface: $0.interface, usesTCP: true) }
        }
    }

    /// The server of a line; nil for one that cannot be used.
    private static func server(_ text: String, _ interfaceName: (UInt32) -> String?) -> LocalDNSServer? {
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(parts[0]) else { return nil }
        guard address.recordType == .aaaa, address.isLinkLocal else { return LocalDNSServer(address) }
        guard parts.count == 2 else { return nil }
        var interface = String(parts[1])
        if let index = OutsideNumber(digits: interface)?.clamped(to: 0...UInt32.max) {
            guard let name = interfaceName(index) else { return nil }
            interface = name
        }
        // IFNAMSIZ less the final zero.
        guard (1...15).contains(interface.utf8.count), !interface.utf8.contains(0x2f) else { return nil }
        return LocalDNSServer(address, interface: interface)
    }
}
