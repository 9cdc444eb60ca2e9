import DNSWire
import Scheduling

/// What a TLS handshake says about whether an address belongs to a name (Documentation/Strategy.md, section 4).
package enum AddressVerdict: String, Sendable {
    /// Its certificate is valid for the name.
    case verified
    /// It shows a certificate that is not; or it was not checked, and lately showed such ones, and no right one, for other
    /// names of the same owner.
    case forged
    /// Its certificate is valid for the name but for its time.
    case wrongTime
    /// It shows no certificate: no TLS, or silence.
    case unverified
    /// The address is unreachable from here: no verdict, and of no use to programs on this host either.
    case unreachable
    /// There was no time or no room for a check.
    case unchecked

    /// Whether a certificate decided it: then it holds for minutes, also over a restart.
    package var isDecided: Bool { self == .verified || self == .forged }

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
}

/// What certificate checks have found, while it holds: verdicts on the addresses of names, and the behaviour of
/// addresses for all names.
struct VerdictCache {
    /// What a check is about.
    struct Subject: Hashable {
        let name: Name
        let address: IPAddress

        /// The address, and all names of one owner.
        var ofOwner: Subject { Subject(name: name.owner, address: address) }
    }

    /// How long an address that has answered is preferred to new ones.
    static let answering: Duration = .seconds(600)
    /// How long an address that was silent counts as one without TLS, for all names.
    static let silence: Duration = .seconds(30)

    private var verdicts = ExpiringTable<Subject, AddressVerdict>()
    /// Whether addresses have shown a right certificate, for any name of one owner.
    private var shown = ExpiringTable<Subject, Bool>()
    /// Whether addresses have answered.
    private var answers = ExpiringTable<IPAddress, Bool>()

    func verdict(on subject: Subject, at now: Instant) -> AddressVerdict? { verdicts.value(for: subject, at: now) }

    /// What holds of an address that was not checked in time: another check may have had a verdict, or the address has shown
    /// wrong certificates and no right one for other names of the same owner.
    func lastVerdict(on subject: Subject, at now: Instant) -> AddressVerdict {
        let isDiscredited = shown.value(for: subject.ofOwner, at: now) == false
        return verdict(on: subject, at: now) ?? (isDiscredited ? .forged : .unchecked)
    }

    /// Whether the address has answered a handshake in any way; false: it was silent lately; nil: neither is known.
    func hasAnswered(_ address: IPAddress, at now: Instant) -> Bool? { answers.value(for: address, at: now) }

    /// Records a verdict.
    ///
    /// - Parameter lifetime: how long it holds from now on.
    mutating func record(_ verdict: AddressVerdict, on subject: Subject, for lifetime: Duration, at now: Instant) {
        verdicts.store(verdict, for: subject, until: now + lifetime, at: now)
        guard verdict.isDecided else { return }
        // A right certificate takes precedence over a wrong one. A name that its owner points at another's address
        // shows nothing of the other's names.
        let (isRight, owner) = (verdict == .verified, subject.ofOwner)
        guard isRight || shown.value(for: owner, at: now) != true else { return }
        shown.store(isRight, for: owner, until: now + lifetime, at: now)
    }

    /// Records the behaviour of an address.
    ///
    /// - Parameter hasAnswered: nil: not known; false: it was silent, and did not even accept a TCP connection.
    mutating func note(hasAnswered: Bool?, _ address: IPAddress, at now: Instant) {
        guard let hasAnswered else { return }
        if hasAnswered {
            answers.store(true, for: address, until: now + Self.answering, at: now)
        } else if self.hasAnswered(address, at: now) == true {
            // One lost packet does not make an address silent, but it no longer counts as one that has answered.
            answers.remove(address)
        } else {
            answers.store(false, for: address, until: now + Self.silence, at: now)
        }
    }
}

/// Values that expire. At most `capacity`: beyond it they are dropped, which costs handshakes and never an answer.
private struct ExpiringTable<Key: Hashable, Value> {
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

    mutating func remove(_ key: Key) { entries[key] = nil }
}
