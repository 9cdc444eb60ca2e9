import DNSWire
import HTTPDNS

extension Kind where Value == String {
    /// Text of the characters that names of users, accounts and providers have; it may be empty where it is one key's value.
    ///
    /// - Parameter least: bytes.
    static func identifier(_ type: String, least: Int = 0, maximumLength: Int) -> Kind {
        let range = "\(least > 0 ? "\(least)" : "up") to \(maximumLength) letters, digits, dots, - and _"
        return .text(
            type, range: range, expected: "a string in quotes", problem: "must be \(range)",
            value: { text in
                let isSound = text.utf8.allSatisfy { $0.isWordByte || $0 == UInt8(ascii: ".") }
                return isSound && (least...maximumLength).contains(text.utf8.count) ? text : nil
            })
    }

    /// Empty, or the absolute path of a file.
    ///
    /// - Parameter limit: bytes; of a socket's path 107, for `sockaddr_un`.
    static func path(limit: Int = 4095) -> Kind {
        .text(
            "path", range: "absolute", expected: "a path in quotes",
            parse: { text throws(ValueProblem) in
                guard text.isEmpty || text.hasPrefix("/") else {
                    throw ValueProblem("must be an absolute path, one that begins with /")
                }
                guard text.utf8.count <= limit else { throw ValueProblem("is longer than \(limit) bytes") }
                return text
            })
    }
}

extension Kind where Value == Name {
    /// A name that stands for itself and all below it; lower-cased.
    static var suffix: Kind {
        .text(
            "suffix", expected: "a name in quotes such as \"example.com\"",
            parse: { text throws(ValueProblem) in try Name(host: text) })
    }

    /// A name that stands for itself alone; lower-cased.
    static var name: Kind {
        .text(
            "name", expected: "a name in quotes such as \"www.example.com\"",
            parse: { text throws(ValueProblem) in
                guard !text.contains("*") else { throw ValueProblem("must be one name, without *") }
                return try Name(host: text)
            })
    }
}

extension Kind where Value == NameList {
    /// Any number of suffixes: people have lists of 100,000.
    static var suffixes: Kind {
        let list = Kind<[Name]>.list(of: .suffix, "list of suffixes")
        return Kind(
            type: list.type, range: list.range, read: { list.read($0, $1, $2).map { NameList($0) } },
            write: { list.write(Array($0)) })
    }
}

extension Kind where Value == IPAddress {
    static var address: Kind {
        .text(
            "IP address", expected: "an IP address in quotes", problem: "is not an IP address", value: { IPAddress($0) }
        )
    }
}

extension Kind where Value == AddressPrefix {
    static var prefix: Kind { network { _ in } }

    /// A network of clients, whose IPv4 addresses are never in the form of IPv6 addresses.
    static var clients: Kind {
        network { network throws(ValueProblem) in
            guard network.length >= 96, let mapped = network.address.mapped,
                let ipv4 = AddressPrefix(mapped, length: network.length - 96)
            else { return }
            throw ValueProblem("has no clients: their addresses are IPv4; write \"\(ipv4)\"")
        }
    }

    private static func network(_ check: @escaping @Sendable (AddressPrefix) throws(ValueProblem) -> Void) -> Kind {
        .text(
            "network", expected: "a network in quotes such as \"192.0.2.0/24\"",
            parse: { text throws(ValueProblem) in
                guard let network = AddressPrefix(text) else {
                    throw ValueProblem("is not a network; write one such as \"192.0.2.0/24\" or \"2001:db8::/32\"")
                }
                try check(network)
                return network
            })
    }
}

extension Kind where Value == AddressAndPort {
    /// An address to listen on, with its port.
    static var listener: Kind {
        .text(
            "address and port", expected: "an address and port in quotes such as \"127.0.0.1:53\"",
            parse: { text throws(ValueProblem) in
                guard let own = AddressAndPort(text) else {
                    throw ValueProblem("is not an address and port; write one such as \"127.0.0.1:53\" or \"[::1]:53\"")
                }
                if own.address.isMulticast || own.address == .v4(.max) {
                    throw ValueProblem("is of many machines, and only an address of this one can be listened on")
                }
                if let mapped = own.address.mapped {
                    throw ValueProblem("is an IPv4 address: write \"\(AddressAndPort(mapped, port: own.port))\"")
                }
                return try own.checkedForZone()
            })
    }

    /// An address to send to; names are refused.
    ///
    /// - Parameter defaultPort: 0 leaves it open, to be filled in by `finish`.
    static func server(defaultPort: UInt16) -> Kind {
        .text(
            "IP address, with a port if not the usual one", expected: "an IP address in quotes",
            parse: { text throws(ValueProblem) in
                guard let endpoint = AddressAndPort(text, defaultPort: defaultPort),
                    endpoint.port != 0 || AddressAndPort(text) == nil
                else {
                    throw ValueProblem(
                        "is not an IP address with an optional port, such as \"192.0.2.1\" or \"[2001:db8::1]:5353\"")
                }
                return try endpoint.checkedForZone()
            },
            write: { written($0.port == defaultPort ? $0.address.description : $0.description) })
    }
}

extension AddressAndPort {
    /// This address, if packets can be sent to it: an IPv6 address of a link is on one of the machine's interfaces.
    fileprivate func checkedForZone() throws(ValueProblem) -> AddressAndPort {
        guard address.recordType == .aaaa, address.isLinkLocal, zone == nil else { return self }
        throw ValueProblem("needs the interface of its link, as in \"[\(address)%eth0]\"")
    }
}

extension Kind where Value == ProviderURL {
    /// Never repeated in an error, because it might have been meant to hold a password.
    static var url: Kind {
        .text(
            "URL", range: "http or https", expected: "a URL in quotes such as \"https://192.0.2.1/dns-query\"",
            isShown: false, parse: { text throws(ValueProblem) in try ProviderURL(text) })
    }
}

extension Kind where Value == ProviderHost {
    static var host: Kind {
        .text(
            "host name or IP address", expected: "a host name or IP address in quotes",
            problem: "is not a host name or IP address", value: { ProviderHost($0) })
    }
}

/// Marks before and behind a name that mean a suffix, or a name, in other products' lists.
private let marksBefore = [
    "https://", "http://", "@@||", "||", "*.", "+.", ".", "|", "domain:", "full:", "domain-suffix,", "domain,",
    "server=/", "address=/", "local=/",
]
private let marksBehind: [Character] = ["^", "/", "|", "."]

extension Name {
    /// Reads the name of a host or a suffix as people write them; of the root, `.`. It is lower-cased.
    ///
    /// What could never match a name is an error: a list of such entries would protect nothing, and say nothing. Many people
    /// have lists in the syntax of another product; where it is plain what they mean, the error says how to write it here.
    init(host text: String) throws(ValueProblem) {
        guard !text.isEmpty else { throw ValueProblem("is not a name") }
        if let invisible = text.unicodeScalars.first(where: \.isInvisible) {
            throw ValueProblem("is not a name: it holds the character \(invisible.number), which cannot be seen")
        }
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else {
            throw ValueProblem("must be written in punycode (xn--...): only ASCII is allowed")
        }
        // A dot behind it leaves it an address, which the name is written as.
        let bare = text.last == "." ? String(text.dropLast()) : text
        guard AddressPrefix(bare) == nil else {
            throw ValueProblem("is not a name, but an address or a network")
        }
        if let foreign = text.utf8.first(where: { !$0.isOfHosts }) {
            let shown = quoted(String(Unicode.Scalar(foreign)))
            throw ValueProblem("is not a name: no host's has a \(shown)\(Self.advice(on: text))")
        }
        do throws(NameError) {
            self = try Name(text).lowercased
        } catch {
            throw ValueProblem("is not a name: \(error)\(Self.advice(on: text))")
        }
    }

    /// What to write instead, as the end of a sentence; empty where that is not plain.
    private static func advice(on text: String) -> String {
        if text == "*" { return "; write \".\" for every name" }
        if text.hasPrefix("geosite:") || text.hasPrefix("regexp:") || text.hasPrefix("/") || text.hasPrefix("file:") {
            return "; only suffixes are known, such as \"example.com\""
        }
        if text.hasPrefix("\"") || text.hasPrefix("'") { return "; write it without quotes of its own" }
        var meant = Substring(text.lowercased())
        while let mark = marksBefore.first(where: { meant.hasPrefix($0) }) { meant = meant.dropFirst(mark.utf8.count) }
        while let last = meant.last, marksBehind.contains(last) { meant = meant.dropLast() }
        if meant.contains(where: { $0 == "," || $0 == ";" }) { return "; write each name as an entry of its own" }
        // Behind the name: a port, a path, a server of dnsmasq's.
        meant = meant.prefix { $0 != ":" && $0 != "/" }
        guard meant.contains("."), meant.utf8.allSatisfy(\.isOfHosts), (try? Name(meant)) != nil else { return "" }
        return "; write \(quoted(String(meant))), which means the name and all below it where suffixes are listed"
    }
}

extension UInt8 {
    fileprivate var isOfHosts: Bool { isWordByte || self == UInt8(ascii: ".") }
}

extension Unicode.Scalar {
    /// How messages name a character that they cannot show: `U+200B`.
    var number: String {
        let digits = String(value, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
    }

    /// Whether it is a control character, a blank, or one of those that leave no trace on paper.
    var isInvisible: Bool {
        if isASCII { return value <= 0x20 || value == 0x7f }
        return properties.isWhitespace || properties.isDefaultIgnorableCodePoint
            || properties.generalCategory == .control
    }
}
