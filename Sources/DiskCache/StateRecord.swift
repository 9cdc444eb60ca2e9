/// A learned fact that is stored over a restart, beside answers.
public struct StateRecord: Sendable {
    /// The kinds of records; the names do not change between versions.
    public enum Kind: String, CaseIterable, Sendable {
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

        /// The file's own: settings of the clock (`ClockMark`).
        case clock = "clock"
        /// The file's own: the text of a source, by its number.
        case source = "source"

        /// Whether it is learned by the server, and not the file's own.
        var isLearned: Bool { self != .clock && self != .source }

        /// Whether there may be one for any name that clients ask for; of the other kinds there are few.
        var isOfNames: Bool { self == .checkVerdict || self == .journal }

        /// Seconds after which a record expires.
        public var lifetime: Int64 {
            switch self {
            case .checkVerdict: 3_600
            case .calls, .fleetCalls, .accountCalls: 3 * 86_400
            case .clockOffset: 7 * 86_400
            case .serviceAddresses, .localDNSServers, .badAddress, .journal: 90 * 86_400
            // Until it is switched on, also where the clock was not set when it was switched off.
            case .switchedOff, .clock, .source: .max
            }
        }

        /// The most records that are stored; the newest are retained.
        var limit: Int64 {
            switch self {
            case .checkVerdict: 4_096
            case .badAddress, .accountCalls: 1_024
            default: 256
            }
        }
    }

    struct Key: Hashable, Sendable {
        let kind: Kind
        /// The subject: at most 512 bytes.
        let name: String

        /// As the key of its row.
        var text: String { "\(kind.rawValue) \(name)" }
    }

    let key: Key
    public var kind: Kind { key.kind }
    public var name: String { key.name }
    /// Seconds since 1970.
    public let storedAt: Int64
    private let make: @Sendable () -> String

    /// - Parameter value: evaluated when the record is written: of one that is replaced before, never.
    public init(_ kind: Kind, _ name: String, value: @autoclosure @escaping @Sendable () -> String, storedAt: Int64) {
        key = Key(kind: kind, name: name)
        self.storedAt = storedAt
        make = value
    }

    /// At most 4,096 bytes, in a format specific to the kind. A longer one is not stored.
    public var value: String { make() }

    /// The same with a value that is made now; nil where it is too long to be stored.
    var made: StateRecord? {
        let value = value
        return name.utf8.count <= 512 && value.utf8.count <= 4_096
            ? StateRecord(kind, name, value: value, storedAt: storedAt) : nil
    }
}

extension StateRecord.Key {
    /// Of the text of a source with this number.
    init(ofSource number: UInt64) { self.init(kind: .source, name: String(number, radix: 16)) }
}

// The records in the file, beside the answers: a row's key is "KIND NAME", its value "CHECKSUM STORED VALUE".
extension StateRecord {
    /// - Returns: nil for a row that is not as it was written, or of an unknown kind.
    fileprivate init?(key: String, value: String) {
        let subject = key.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let fields = value.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        guard subject.count == 2, let kind = Kind(rawValue: subject[0]), fields.count == 3,
            let storedAt = Int64(fields[1]), WallClock.times.contains(storedAt),
            fields[0] == Self.sum(key, "\(fields[1]) \(fields[2])"),
            let made = StateRecord(kind, subject[1], value: fields[2], storedAt: storedAt).made
        else { return nil }
        self = made
    }

    /// The checksum, of all but itself.
    fileprivate static func sum(_ key: String, _ value: String) -> String {
        String(checksum(of: "\(key)\0\(value)".utf8), radix: 16)
    }
}

extension SQLiteConnection {
    /// Writes a record; replaces an older one with the same key.
    func write(_ record: StateRecord) throws(SQLiteError) {
        let (key, text) = (record.key.text, "\(record.storedAt) \(record.value)")
        try run(
            "INSERT OR REPLACE INTO state (key, value) VALUES (?, ?)", .text(key),
            .text("\(StateRecord.sum(key, text)) \(text)"))
    }

    /// All records of the kinds that this version supports, without those that are not as they were written.
    func records() throws(SQLiteError) -> [StateRecord.Key: StateRecord] {
        // More than there ever are.
        let statement = try prepare("SELECT key, value FROM state LIMIT 10000")
        var records: [StateRecord.Key: StateRecord] = [:]
        while try statement.step() {
            guard let record = StateRecord(key: statement.text(0), value: statement.text(1)) else { continue }
            records[record.key] = record
        }
        return records
    }
}
