public import DNSWire

extension AddressVerdict {
    /// Whether a certificate decided it: then it holds for minutes, also over a restart.
    public var isDecided: Bool { self == .verified || self == .forged }

    /// How long the verdict is cached; nil: not at all.
    ///
    /// A certificate that was right stays right for some time. A wrong one may be a mistake that is corrected; where
    /// there was no TLS there may be some as soon as a server has started.
    var lifetime: Duration? {
        switch self {
        case .verified: .seconds(600)
        case .forged: .seconds(300)
        case .wrongTime, .unverified: .seconds(30)
        case .unreachable, .unchecked: nil
        }
    }

    /// For operators: the end of a sentence about the address.
    var traceText: String {
        switch self {
        case .verified: "shows a certificate of the name"
        case .forged: "is another's by the certificates that it shows: forged"
        case .wrongTime: "shows a certificate that is the name's but for its time"
        case .unverified: "shows no certificate"
        case .unreachable: "cannot be reached from here"
        case .unchecked: "was not checked in time"
        }
    }
}

/// Makes TLS handshakes with servers, to verify their certificates.
@Loop
public protocol Handshake: AnyObject, Sendable {
    /// Makes one, with the name as SNI and as the name that the certificate must carry. Ends by `deadline`, and at once
    /// when the task is cancelled.
    func shakeHands(with address: IPAddress, port: UInt16, as name: Name, until deadline: Instant) async
        -> HandshakeOutcome
}

/// How a handshake ended.
public enum HandshakeOutcome: Hashable, Sendable {
    /// The certificate is valid for the name.
    case verified
    /// It is not.
    case wrongCertificate(CertificateEvidence)
    /// It is but for its time: this machine's clock may be wrong, or the site's operator may have renewed late.
    case wrongTime
    /// The server answered without a certificate: it refused the connection, ended it, or speaks something else.
    case noTLS
    /// There was no response at all in time: not even a TCP connection.
    case silent
    /// Nothing is known of the address: there was a TCP connection and no TLS in time, perhaps for this name alone, or no
    /// handshake can be made with this name.
    case unclear
    /// The address is unreachable from here, which says nothing about the server.
    case unreachable
    /// It was cancelled, or there was no room for it on this host: it was not made.
    case cancelled
}

/// Details of a certificate that is not the name's. Texts are bounded, and of printable ASCII only.
public struct CertificateEvidence: Hashable, Sendable {
    /// Why it is refused.
    public var reason: String
    /// Distinguished names in RFC 2253's form; empty when they could not be read.
    public var subject: String
    public var issuer: String
    /// SHA-256 of the whole certificate in hexadecimal; empty when it is not available.
    public var fingerprint: String

    public init(reason: String, subject: String = "", issuer: String = "", fingerprint: String = "") {
        self.reason = reason
        self.subject = subject
        self.issuer = issuer
        self.fingerprint = fingerprint
    }
}

extension CertificateEvidence: CustomStringConvertible {
    /// One sentence without its subject: "its certificate ...".
    public var description: String {
        var text = reason
        if !subject.isEmpty { text += ": subject \(subject)" }
        if !issuer.isEmpty { text += ", issuer \(issuer)" }
        return text
    }
}

/// Values that expire. At most `capacity`: beyond it they are dropped, which costs handshakes and never an answer.
struct ExpiringTable<Key: Hashable, Value> {
    private static var capacity: Int { 4_096 }

    private var entries: [Key: (value: Value, until: Instant)] = [:]

    func value(for key: Key, at now: Instant) -> Value? {
        guard let entry = entries[key], now < entry.until else { return nil }
        return entry.value
    }

    mutating func store(_ value: Value, for key: Key, until end: Instant, at now: Instant) {
        if entries.count >= Self.capacity { entries = entries.filter { now < $0.value.until } }
        if entries.count >= Self.capacity { entries = [:] }
        entries[key] = (value, end)
    }
}
