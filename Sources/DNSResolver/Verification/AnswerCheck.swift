import DNSCache
import DNSWire
package import Scheduling

/// Checks the addresses that LocalDNS gives for protected names (Documentation/Strategy.md, section 4).
@Loop
package final class AnswerCheck {
    /// Addresses of one answer that are checked; a forged response may hold thousands.
    package nonisolated static let addressLimit = 8
    package nonisolated let rule: CertificateRule
    private let check: any AddressCheck
    private let timeOfDay: TimeOfDay?

    /// - Parameter timeOfDay: nil: it always is right.
    package nonisolated init(
        rule: CertificateRule, check: any AddressCheck, timeOfDay: TimeOfDay? = nil
    ) {
        self.rule = rule
        self.check = check
        self.timeOfDay = timeOfDay
    }

    /// Whether the clock cannot be right.
    var isClockDoubtful: Bool { timeOfDay?.doubt != nil }

    /// The recorded forgeries for a name in lower case, the one seen last first.
    func evidence(of name: Name) -> [HijackedAddress] { check.evidence(of: name) }

    /// The verdict on an address that LocalDNS gives for a name.
    ///
    /// - Parameter server: that gave it.
    func verdict(
        on address: IPAddress, to key: FlightKey, from server: String, until deadline: Instant
    ) async -> AddressVerdict {
        await check.verdict(on: address, for: key.name, from: server, holder: key.holder, until: deadline)
    }

    /// The addresses of an answer, each once.
    nonisolated static func distinctAddresses(of answer: Answer) -> [IPAddress] {
        var seen: Set<IPAddress> = []
        return answer.addresses.filter { seen.insert($0).inserted }
    }
}
