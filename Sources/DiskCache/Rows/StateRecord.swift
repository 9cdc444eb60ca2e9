/// One thing that the daemon has learned and that is worth keeping over a restart, beside answers.
package struct StateRecord: Equatable, Sendable {
    /// What kinds there are; the names stay as they are from version to version.
    package enum Kind: String, CaseIterable, Sendable {
        /// Addresses of a service's host, by provider.
        case serviceAddresses = "service_addresses"
        /// The network's resolvers that were found last.
        case localDNSServers = "localdns_servers"
        /// Seconds by which a service's clock is ahead of ours, by provider.
        case clockOffset = "clock_offset"
        /// Billable calls, by provider and day.
        case calls = "calls"
        /// Addresses reported as bad.
        case badAddress = "bad_address"
        /// What the certificate of an address proved, by name and address.
        case checkVerdict = "check_verdict"
        /// Evidence of lies, by name and address.
        case journal = "journal"

        /// That HTTPDNS is switched off; none: it is on.
        case switchedOff = "switched_off"

        /// Seconds after which a record is of no use any more.
        package var lifetime: Int64 {
            switch self {
            case .checkVerdict: 3_600
            case .calls: 3 * 86_400
            case .clockOffset: 7 * 86_400
            case .serviceAddresses, .localDNSServers, .badAddress, .journal: 90 * 86_400
            // Until it is switched on.
            case .switchedOff: 3_650 * 86_400
            }
        }

        /// The most records that are kept, the newest ones.
        var limit: Int64 {
            switch self {
            case .checkVerdict: 4_096
            case .badAddress: 1_024
            case .serviceAddresses, .localDNSServers, .clockOffset, .calls, .journal, .switchedOff: 256
            }
        }
    }

    package var kind: Kind
    /// What it is about: at most 512 bytes.
    package var name: String
    /// At most 4,096 bytes, in a form that its kind alone knows.
    package var value: String
    /// Seconds since 1970.
    package var storedAt: Int64

    package init(_ kind: Kind, _ name: String, value: String, storedAt: Int64) {
        self.kind = kind
        self.name = name
        self.value = value
        self.storedAt = storedAt
    }

    /// What it is found by.
    struct Key: Hashable, Sendable {
        var kind: Kind
        var name: String
    }

    var key: Key { Key(kind: kind, name: name) }

    /// The most records that are read, or wait to be written.
    static let limit = 10_000
    static let longestName = 512
    static let longestValue = 4_096

    /// Whether it is small enough to be kept.
    var fits: Bool { name.utf8.count <= Self.longestName && value.utf8.count <= Self.longestValue }

    var checksum: UInt64 {
        var checksum = Checksum()
        checksum.add(kind.rawValue)
        checksum.add(name)
        checksum.add(value)
        checksum.add(storedAt)
        return checksum.value
    }
}
