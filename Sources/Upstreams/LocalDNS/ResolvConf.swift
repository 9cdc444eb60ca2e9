package import DNSWire
import HTTPDNS
import Platform

/// The contents of a resolv.conf (resolv.conf(5)) that a forwarder needs: its `nameserver` lines, its search list, and
/// the option `use-vc`.
package struct ResolvConf: Hashable, Sendable {
    /// A `nameserver` line that cannot be used.
    package struct Skipped: Hashable, Sendable {
        /// Counted from 1.
        package let line: Int
        package let reason: String
    }

    /// Usable servers, in order, all on port 53.
    package private(set) var servers: [LocalDNSServer] = []
    package private(set) var skipped: [Skipped] = []
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
        for (index, line) in lines.prefix(Self.maximumLines).enumerated() {
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
            guard keyword == "nameserver" else { continue }
            do throws(Fault) {
                let text = words.count > 1 ? String(decoding: words[1], as: UTF8.self) : ""
                servers.append(try Self.server(text, interfaceName))
            } catch {
                skipped.append(Skipped(line: index + 1, reason: error.reason))
            }
        }
        // The option holds for all servers, wherever its line is.
        if usesTCP {
            servers = servers.map { LocalDNSServer($0.address, interface: $0.interface, usesTCP: true) }
        }
    }

    private struct Fault: Error {
        let reason: String
    }

    private static func server(
        _ text: String, _ interfaceName: (UInt32) -> String?
    ) throws(Fault) -> LocalDNSServer {
        guard !text.isEmpty else { throw Fault(reason: "no address") }
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(parts[0]) else { throw Fault(reason: "not an IP address: \(shown(text))") }
        guard address.recordType == .aaaa, address.isLinkLocal else { return LocalDNSServer(address) }
        guard parts.count == 2 else { throw Fault(reason: "\(address) is link-local and names no interface") }
        var interface = String(parts[1])
        if let index = OutsideNumber(digits: interface)?.clamped(to: 0...UInt32.max) {
            guard let name = interfaceName(index) else {
                throw Fault(reason: "there is no interface with the number \(index)")
            }
            interface = name
        }
        // IFNAMSIZ less the final zero.
        guard (1...15).contains(interface.utf8.count), !interface.utf8.contains(0x2f) else {
            throw Fault(reason: "not the name of an interface: \(shown(interface))")
        }
        return LocalDNSServer(address, interface: interface)
    }

    /// Text from a file, made safe for a log line.
    private static func shown(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.prefix(60).map { $0.isDisplayControl ? "?" : $0 }))
    }
}
