/// A learned fact that is stored over a restart, beside answers.
package struct StateRecord: Equatable, Sendable {
    /// The kinds of records; the names do not change between versions.
    package enum Kind: String, CaseIterable, Sendable {
        /// Addresses of a service's host, by provider.
        case serviceAddresses = "service_addresses"
        /// The network's resolvers found last.
        case localDNSServers = "localdns_servers"
        /// Seconds by which a service's clock is ahead of ours, by provider.
        case clockOffset = "clock_offset"
        /// Billable calls, by provider and day.
        case calls = "calls"
        /// Calls claimed in a count that several servers share, by provider.
        case fleetCalls = "fleet_calls"
        /// Names resolved for an account of the service offered here, by account.
        case accountCalls = "account_calls"
        /// Addresses reported as bad.
        case badAddress = "bad_address"
        /// The result of a certificate check of an address, by name and address.
        case checkVerdict = "check_verdict"
        /// Evidence of forged responses, by name and address.
        case journal = "journal"

        /// HTTPDNS is switched off; without this record it is on.
        case switchedOff = "switched_off"

        /// Seconds after which a record expires.
        package var lifetime: Int64 {
            switch self {
            case .checkVerdict: 3_600
            case .calls, .fleetCalls, .accountCalls: 3 * 86_400
            case .clockOffset: 7 * 86_400
            case .serviceAddresses, .localDNSServers, .badAddress, .journal: 90 * 86_400
            // Until it is switched on, also where the clock was not set when it was switched off.
            case .switchedOff: .max
            }
        }

        /// The most records that are stored; the newest are retained.
        var limit: Int64 {
            switch self {
            case .checkVerdict: 4_096
            case .badAddress, .accountCalls: 1_024
            case .serviceAddresses, .localDNSServers, .clockOffset, .calls, .fleetCalls, .journal, .switchedOff: 256
            }
        }
    }

    package let kind: Kind
    /// The subject: at most 512 bytes.
    package let name: String
    /// Seconds since 1970.
    package let storedAt: Int64
    private let text: Text

    private enum Text: Sendable {
        case known(String)
        case made(@Sendable () -> String)
    }

    package init(_ kind: Kind, _ name: String, value: String, storedAt: Int64) {
        self.kind = kind
        self.name = name
        self.storedAt = storedAt
        text = .known(value)
    }

    /// - Parameter value: called when the record is written: for one that is replaced before, never. A value that turns
    ///   out too long is not written.
    package init(_ kind: Kind, _ name: String, storedAt: Int64, value: @escaping @Sendable () -> String) {
        self.kind = kind
        self.name = name
        self.storedAt = storedAt
        text = .made(value)
    }

    /// At most 4,096 bytes, in a format specific to the kind.
    package var value: String {
        switch text {
        case .known(let value): value
        case .made(let make): make()
        }
    }

    /// The record with its value made.
    var made: StateRecord { StateRecord(kind, name, value: value, storedAt: storedAt) }

    package static func == (left: Self, right: Self) -> Bool {
        left.key == right.key && left.storedAt == right.storedAt && left.value == right.value
    }

    /// The key of a record.
    struct Key: Hashable, Sendable {
        var kind: Kind
        var name: String
    }

    var key: Key { Key(kind: kind, name: name) }

    /// The most records that are read, or that wait to be written.
    static let limit = 10_000
    static let longestName = 512
    static let longestValue = 4_096

    /// Whether name and value are short enough to be stored; for a value that is not made yet, whether the name is.
    var fits: Bool {
        guard name.utf8.count <= Self.longestName else { return false }
        return if case .known(let value) = text { value.utf8.count <= Self.longestValue } else { true }
    }

    var checksum: UInt64 {
        var checksum = Checksum()
        checksum.add(kind.rawValue)
        checksum.add(name)
        checksum.add(value)
        checksum.add(storedAt)
        return checksum.value
    }
}
