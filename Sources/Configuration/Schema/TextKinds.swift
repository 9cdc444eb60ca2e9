import DNSWire
import HTTPDNS

extension Kind where Value == String {
    /// Empty, or text of the characters that names of users, accounts and providers have.
    static func identifier(_ type: String, maximumLength: Int) -> Kind {
        .text(
            type, range: "up to \(maximumLength) letters, digits, dots, - and _", expected: "a string in quotes",
            parse: { text throws(ValueProblem) in
                guard text.utf8.count <= maximumLength,
                    text.utf8.allSatisfy({ isBareKeyByte($0) || $0 == UInt8(ascii: ".") })
                else { throw ValueProblem("must be up to \(maximumLength) letters, digits, dots, - and _") }
                return text
            }, write: { written($0) })
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
            }, write: { written($0) })
    }
}

extension Kind where Value == Secret? {
    /// Never repeated in an error; empty means none.
    static var secret: Kind {
        .text(
            "secret", expected: "a string in quotes", isShown: false, isSecret: true,
            parse: { text throws(ValueProblem) in
                if let fault = Secret.fault(text) { throw ValueProblem(fault) }
                return text.isEmpty ? nil : Secret(text)
            },
            write: { _ in "\"\"" })
    }
}

extension Kind where Value == Name {
    /// A name that stands for itself and all below it; lower-cased.
    static var suffix: Kind {
        .text(
            "suffix", expected: "a name in quotes such as \"example.com\"",
            parse: { text throws(ValueProblem) in
                try HostName.parse(text)
            }, write: { written($0.description) })
    }

    /// A name that stands for itself alone; lower-cased.
    static var name: Kind {
        .text(
            "name", expected: "a name in quotes such as \"www.example.com\"",
            parse: { text throws(ValueProblem) in
                guard !text.contains("*") else { throw ValueProblem("must be one name, without *") }
                return try HostName.parse(text)
            }, write: { written($0.description) })
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
    static var prefix: Kind {
        .text(
            "network", expected: "a network in quotes such as \"192.0.2.0/24\"",
            problem: "is not a network; write one such as \"192.0.2.0/24\" or \"2001:db8::/32\"",
            value: { AddressPrefix($0) })
    }
}

extension Kind where Value == AddressAndPort {
    /// An address to listen on, with its port.
    static var listener: Kind {
        .text(
            "address and port", expected: "an address and port in quotes such as \"127.0.0.1:53\"",
            problem: "is not an address and port; write one such as \"127.0.0.1:53\" or \"[::1]:53\"",
            value: { AddressAndPort($0) })
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
                return endpoint
            },
            write: { written($0.port == defaultPort ? $0.address.description : $0.description) })
    }
}

extension Kind where Value == ProviderURL {
    /// Never repeated in an error, because it might have been meant to hold a password.
    static var url: Kind {
        .text(
            "URL", range: "http or https", expected: "a URL in quotes such as \"https://192.0.2.1/dns-query\"",
            isShown: false, parse: { text throws(ValueProblem) in try ProviderURL(text) },
            write: { written($0.description) })
    }
}

extension Kind where Value == ProviderHost {
    static var host: Kind {
        .text(
            "host name or IP address", expected: "a host name or IP address in quotes",
            problem: "is not a host name or IP address", value: { ProviderHost($0) })
    }
}
