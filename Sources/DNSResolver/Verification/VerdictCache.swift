import DNSWire
import Scheduling

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

    /// What the handshakes of a check say of the address, whatever the name.
    enum Conduct {
        case answered
        /// It took its whole time, and there was not even a TCP connection.
        case silent
        /// It was mute, perhaps for one name alone, or the check was cancelled.
        case unknown
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

    /// Whether the address has shown wrong certificates and no right one for other names of the same owner.
    func isDiscredited(_ subject: Subject, at now: Instant) -> Bool {
        shown.value(for: subject.ofOwner, at: now) == false
    }

    /// Whether the address has answered a handshake in any way, and has not been silent since.
    func hasAnswered(_ address: IPAddress, at now: Instant) -> Bool { answers.value(for: address, at: now) == true }

    /// Whether the address was silent lately.
    func isSilent(_ address: IPAddress, at now: Instant) -> Bool { answers.value(for: address, at: now) == false }

    /// Records a verdict.
    ///
    /// - Parameter lifetime: how long it holds from now on.
    mutating func record(_ verdict: AddressVerdict, on subject: Subject, for lifetime: Duration, at now: Instant) {
        verdicts.store(verdict, for: subject, until: now + lifetime, at: now)
        guard verdict == .verified || verdict == .forged else { return }
        // A right certificate takes precedence over a wrong one. A name that its owner points at another's address
        // shows nothing of the other's names.
        let (isRight, owner) = (verdict == .verified, subject.ofOwner)
        guard isRight || shown.value(for: owner, at: now) != true else { return }
        shown.store(isRight, for: owner, until: now + lifetime, at: now)
    }

    /// Records the behaviour of an address.
    mutating func record(_ conduct: Conduct, of address: IPAddress, at now: Instant) {
        switch conduct {
        case .answered: answers.store(true, for: address, until: now + Self.answering, at: now)
        // One lost packet does not make an address silent, but it no longer counts as one that has answered.
        case .silent where hasAnswered(address, at: now): answers.remove(address)
        case .silent: answers.store(false, for: address, until: now + Self.silence, at: now)
        case .unknown: break
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
