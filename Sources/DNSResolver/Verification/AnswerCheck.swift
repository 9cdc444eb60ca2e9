import DNSCache
package import DNSWire
package import Scheduling

/// Checks LocalDNS's answers for protected names, and passes what the rule accepts (Documentation/Strategy.md, section
/// 8).
@Loop
package final class AnswerCheck {
    /// Addresses of one answer that are checked; a forged response may hold thousands.
    package nonisolated static let addressLimit = 8
    /// How long the further addresses of an answer wait for the verdict on the first, which usually saves time.
    private static let headStart: Duration = .milliseconds(100)

    package nonisolated let rule: CertificateRule
    private let check: any AddressCheck
    private let timeOfDay: TimeOfDay?
    private let clock: any LoopClock

    /// - Parameter timeOfDay: nil: it always is right.
    package nonisolated init(
        rule: CertificateRule, check: any AddressCheck, timeOfDay: TimeOfDay? = nil, clock: any LoopClock
    ) {
        self.rule = rule
        self.check = check
        self.timeOfDay = timeOfDay
        self.clock = clock
    }

    /// Whether the answers to `key` are checked; if not, they are accepted unchecked.
    package nonisolated func checks(_ key: FlightKey, _ type: RecordType) -> Bool {
        type.isAddress && rule.level(for: key.name, by: key.route) != nil
    }

    /// What a verdict counts for now. While the clock cannot be right, the providers fail, and the clock is to be set by
    /// servers whose names are looked up here: a certificate that is wrong in its time alone verifies, and one for another
    /// name, as time servers often show, refutes nothing where an unverified address will do.
    private func counted(_ verdict: AddressVerdict, _ level: CertificateRule.Level?) -> AddressVerdict {
        switch verdict {
        case .wrongTime where timeOfDay?.doubt != nil: .verified
        case .forged where level == .lenient && timeOfDay?.doubt != nil: .unclear
        default: verdict
        }
    }

    /// Whether an address of a name in lower case is known to be verified.
    func isVerified(_ name: Name) -> Bool { check.hasVerified(name) }

    /// The recorded forgeries for a name in lower case, the one seen last first.
    func evidence(of name: Name) -> [HijackedAddress] { check.evidence(of: name) }

    /// LocalDNS's answer, reduced to what may be used of it; at once where there is nothing to check.
    ///
    /// - Parameters:
    ///   - server: that answered.
    ///   - began: of the flight; the check ends by `Budget.checked` after it, and sooner when every address has a
    ///     verdict.
    func checked(
        _ answer: Answer, to key: FlightKey, _ type: RecordType, from server: String, began: Instant
    ) async -> CheckedAnswer {
        guard type.isAddress, let level = rule.level(for: key.name, by: key.route) else { return .unverified(answer) }
        let verdicts = await verdicts(
            on: answer, to: key, from: server, until: began + Budget.checked, endsAtProof: true)
        return CheckedAnswer(answer, for: type, verdicts: verdicts, level: level)
    }

    /// LocalDNS's answer by the verdicts that are known by now. Starts no check.
    func asKnown(_ answer: Answer, to key: FlightKey, _ type: RecordType) -> CheckedAnswer {
        guard checks(key, type) else { return .unverified(answer) }
        var verdicts: [IPAddress: AddressVerdict] = [:]
        let level = rule.level(for: key.name, by: key.route)
        for address in answer.addresses {
            verdicts[address] = check.known(address, for: key.name).map { counted($0, level) }
        }
        return CheckedAnswer(answer, for: type, verdicts: verdicts, level: .lenient)
    }

    /// Whether an answer of LocalDNS that was cached unverified has an address that was detected as forged since.
    func isKnownForged(_ answer: PackedAnswer, to question: Question, by route: Route) -> Bool {
        let name = question.name.lowercased
        guard question.type.isAddress, let level = rule.level(for: name, by: route) else { return false }
        return answer.unpacked(for: question)?.addresses.contains { address in
            check.known(address, for: name).map { counted($0, level) } == .forged
        } ?? false
    }

    /// Calls `found` if a check that is still under way detects a forged address in an answer; perhaps more
    /// than once.
    func watch(_ answer: Answer, to key: FlightKey, _ type: RecordType, found: @escaping @Loop () -> Void) {
        guard checks(key, type) else { return }
        for address in answer.addresses { check.watch(address, for: key.name, found: found) }
    }

    /// The verdicts on an answer's addresses: on the first one, and then on the others.
    ///
    /// - Parameters:
    ///   - server: that answered.
    ///   - endsAtProof: whether one verified address suffices after `Budget.check`.
    ///   - endsAtForgery: whether the first forged address suffices.
    func verdicts(
        on answer: Answer, to key: FlightKey, from server: String, until deadline: Instant, endsAtProof: Bool = false,
        endsAtForgery: Bool = false
    ) async -> [IPAddress: AddressVerdict] {
        let addresses = Self.checkedAddresses(of: answer)
        guard let first = addresses.first else { return [:] }
        let level = rule.level(for: key.name, by: key.route)
        return await withTaskGroup(of: Event.self) { group in
            group.addTask { await self.look(at: first, key, from: server, until: deadline) }
            var others = addresses.dropFirst()
            if !others.isEmpty {
                group.addTask { await self.pause(Self.headStart, .headStartIsOver) }
                if endsAtProof { group.addTask { await self.pause(Budget.check, .proofSuffices) } }
            }
            var verdicts: [IPAddress: AddressVerdict] = [:]
            var proofSuffices = false
            while verdicts.count < addresses.count, let event = await group.next() {
                switch event {
                case .verdict(let address, let verdict):
                    key.note(.check, "\(address) \(verdict.traceText)")
                    verdicts[address] = counted(verdict, level)
                case .proofSuffices: proofSuffices = true
                case .headStartIsOver: break
                }
                if endsAtForgery, verdicts.values.contains(.forged) { break }
                if proofSuffices, verdicts.values.contains(.verified) {
                    for address in addresses where verdicts[address] == nil { check.goOn(address, for: key.name) }
                    break
                }
                for address in others {
                    group.addTask { await self.look(at: address, key, from: server, until: deadline) }
                }
                others = []
            }
            group.cancelAll()
            return verdicts
        }
    }

    /// The first addresses of an answer, each once.
    nonisolated static func checkedAddresses(of answer: Answer) -> [IPAddress] {
        var addresses: [IPAddress] = []
        for address in answer.addresses where addresses.count < addressLimit && !addresses.contains(address) {
            addresses.append(address)
        }
        return addresses
    }

    private enum Event: Sendable {
        case verdict(IPAddress, AddressVerdict)
        case headStartIsOver
        case proofSuffices
    }

    private func look(
        at address: IPAddress, _ key: FlightKey, from server: String, until deadline: Instant
    ) async -> Event {
        let verdict = await check.verdict(
            on: address, for: key.name, from: server, holder: key.holder, until: deadline)
        return .verdict(address, verdict)
    }

    private func pause(_ duration: Duration, _ event: Event) async -> Event {
        await clock.sleep(until: clock.now + duration)
        return event
    }
}
