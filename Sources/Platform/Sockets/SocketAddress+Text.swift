import DNSWire
import Glibc

extension SocketAddress: CustomStringConvertible {
    /// Parses "127.0.0.1:53", "[::1]:53" or "[fe80::1%eth0]:53"; an interface may be a number.
    ///
    /// - Parameter defaultPort: the port of a text without one: "127.0.0.1", "::1", "[::1]". `nil`: the port is
    ///   required.
    /// - Returns: `nil` for anything else: names, an unknown interface, a port over 65535.
    package init?(_ text: String, defaultPort: UInt16? = nil) {
        guard let (host, portText) = Self.split(text), let port = Self.port(portText, defaultPort) else { return nil }
        if let address = Self.ipv4(host) {
            self.init(ipv4: address, port: port)
            return
        }
        // An unbracketed IPv6 address cannot have a port: its last group would look like one.
        let parts = host.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        guard let words = Self.ipv6(String(parts[0])) else { return nil }
        guard parts.count == 2 else {
            self.init(ipv6: words.high, words.low, port: port)
            return
        }
        let interface = String(parts[1])
        let scope = unsafe UInt32(interface) ?? if_nametoindex(interface)
        guard scope != 0 else { return nil }
        self.init(ipv6: words.high, words.low, port: port, scope: scope)
    }

    /// The address and port in the form that the initializer parses; an IPv6 address is always in brackets.
    package var description: String { family == .ipv4 ? "\(host):\(port)" : "[\(host)]:\(port)" }

    /// The address without port and brackets, with the interface of a link-local one.
    package var host: String {
        let text = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            let bytes = addressBytes
            let made = unsafe inet_ntop(
                family == .ipv4 ? AF_INET : AF_INET6, bytes, buffer.baseAddress, socklen_t(buffer.count))
            return unsafe made.map { unsafe String(cString: $0) } ?? ""
        }
        return scope == 0 ? text : "\(text)%\(Self.interfaceName(scope) ?? "\(scope)")"
    }

    /// The name of the interface with this index; nil when there is none now. Asks the kernel.
    package static func interfaceName(_ index: UInt32) -> String? {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(IF_NAMESIZE)) { buffer in
            guard let base = buffer.baseAddress, let name = unsafe if_indextoname(index, base) else { return nil }
            return unsafe String(cString: name)
        }
    }

    /// Splits a text into host and port; the port is `nil` where the text has none.
    private static func split(_ text: String) -> (host: String, port: String?)? {
        // C functions would read such a text only up to the zero byte.
        guard !text.utf8.contains(0) else { return nil }
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            let host = String(text[text.index(after: text.startIndex)..<end])
            let rest = text[text.index(after: end)...]
            guard host.contains(":") else { return nil }
            if rest.isEmpty { return (host, nil) }
            return rest.hasPrefix(":") ? (host, String(rest.dropFirst())) : nil
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count == 2 ? (String(parts[0]), String(parts[1])) : (text, nil)
    }

    private static func port(_ text: String?, _ defaultPort: UInt16?) -> UInt16? {
        guard let text else { return defaultPort }
        return OutsideNumber(digits: text)?.within(0...UInt16.max)
    }

    private static func ipv4(_ text: String) -> UInt32? {
        var address = in_addr()
        return unsafe inet_pton(AF_INET, text, &address) == 1 ? UInt32(bigEndian: address.s_addr) : nil
    }

    private static func ipv6(_ text: String) -> (high: UInt64, low: UInt64)? {
        unsafe withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 2) { words in
            guard unsafe inet_pton(AF_INET6, text, words.baseAddress) == 1 else { return nil }
            return unsafe (UInt64(bigEndian: words[0]), UInt64(bigEndian: words[1]))
        }
    }
}
