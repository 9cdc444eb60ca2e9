public import DNSWire
import HTTPDNS
public import Upstreams

/// The base of a service: scheme, host, port and path. Never holds user names, passwords, queries or fragments.
public struct ProviderURL: Hashable, Sendable {
    public var scheme: HTTPOrigin.Scheme
    public var host: ProviderHost
    /// 1 to 65535.
    public var port: UInt16
    /// Empty, or begins with a slash; as written, percent-encoding included.
    public var path: String

    public init(_ scheme: HTTPOrigin.Scheme, _ host: ProviderHost, port: UInt16? = nil, path: String = "") {
        self.scheme = scheme
        self.host = host
        self.port = port ?? scheme.defaultPort
        self.path = path
    }

    /// Reads `https://host`, `http://192.0.2.1:8080/base`, `https://[2001:db8::1]/dns-query`.
    ///
    /// The error's text holds no part of the URL: it may have been meant to carry a password.
    public init(_ text: String) throws(ValueProblem) {
        guard let mark = text.firstRange(of: "://"),
            let scheme = HTTPOrigin.Scheme(rawValue: text[..<mark.lowerBound].lowercased())
        else { throw ValueProblem("must begin with https:// or http://") }
        let rest = text[mark.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let path = String(rest[authority.endIndex...])
        guard !authority.contains("@") else {
            throw ValueProblem("must not hold a user name or password: leave out everything up to the @")
        }
        guard !path.contains("{") else { throw ValueProblem("must be the plain address: leave out {?dns}") }
        guard !path.contains("?"), !path.contains("#") else { throw ValueProblem("must end before the ? or #") }
        guard path.utf8.allSatisfy(Self.isPathByte) else {
            throw ValueProblem("has a character in its path that must be percent-encoded")
        }
        let (host, port) = try Self.hostAndPort(authority)
        self.init(scheme, host, port: port, path: path)
    }

    /// The URL for people: without a path that may be a secret, as several services of DoH have one for each account.
    public var shown: String {
        guard !["", "/", "/dns-query", "/resolve"].contains(path) else { return description }
        return "\(ProviderURL(scheme, host, port: port))/…"
    }

    static func hostAndPort(_ authority: Substring) throws(ValueProblem) -> (ProviderHost, UInt16?) {
        let (hostText, portText): (Substring, Substring?)
        do throws(AddressAndPort.Fault) {
            (hostText, portText) = try AddressAndPort.split(authority)
        } catch {
            throw ValueProblem(error.rawValue)
        }
        guard authority.hasPrefix("[") || !hostText.contains(":") else {
            throw ValueProblem("must have its IPv6 address in brackets")
        }
        guard let host = ProviderHost(hostText) else {
            throw ValueProblem("has no valid host: write an IP address or a host name (in punycode form)")
        }
        guard let portText else { return (host, nil) }
        guard let port = AddressAndPort.port(portText), port > 0 else {
            throw ValueProblem("has no valid port: write 1 to 65535")
        }
        return (host, port)
    }

    /// The bytes that RFC 3986 section 3.3 allows in a path.
    private static func isPathByte(_ byte: UInt8) -> Bool {
        byte.isWordByte || "/.~%!$&'()*+,;=:@".utf8.contains(byte)
    }
}

extension ProviderURL: CustomStringConvertible {
    /// The URL again, without the scheme's own port.
    public var description: String {
        let port = port == scheme.defaultPort ? "" : ":\(port)"
        return switch host {
        case .address(.v6(let value)): "\(scheme.rawValue)://[\(IPAddress.v6(value))]\(port)\(path)"
        default: "\(scheme.rawValue)://\(host)\(port)\(path)"
        }
    }
}

/// What a service's certificate names, or its URL holds: a host name or an IP address.
public enum ProviderHost: Hashable, Sendable {
    /// Lower-cased; labels of letters, digits, `-` and `_`.
    case name(Name)
    case address(IPAddress)

    /// Nil for anything that is neither an IP address nor a host name in ASCII (punycode for others).
    public init?(_ text: some StringProtocol) {
        if let address = IPAddress(text) {
            self = .address(address)
            return
        }
        guard !text.isEmpty, text.utf8.allSatisfy({ $0.isWordByte || $0 == UInt8(ascii: ".") }),
            let name = try? Name(text), let last = name.labels.last,
            !last.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        self = .name(name.lowercased)
    }
}

extension ProviderHost: CustomStringConvertible {
    public var description: String {
        switch self {
        case .name(let name): name.description
        case .address(let address): address.description
        }
    }
}

extension Kind where Value == String {
    /// SHA-256 of a public key (SPKI): `sha256//` and 44 characters of base64, as curl and browsers write pins.
    static var publicKeyPin: Kind {
        .text(
            "pin", expected: "a pin in quotes such as \"sha256//...\"",
            problem: "is not a pin; write sha256// and the base64 of the SHA-256 of the public key",
            value: { text in
                let digest = String(text.dropFirst("sha256//".count))
                guard text.hasPrefix("sha256//"), let bytes = TextDecoding.base64(digest), bytes.count == 32,
                    // Written as TLS will show it: without line ends, and its last bits zero.
                    TextEncoding.base64(bytes) == digest
                else { return nil }
                return text
            })
    }
}
