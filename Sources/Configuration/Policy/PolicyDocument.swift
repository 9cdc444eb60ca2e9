/// `[document]` of a signed policy: what it is, for which machines, and what has no key in the configuration.
public struct PolicyDocument: SettingsTable {
    /// A list of the configuration that a policy may replace instead of adding to it.
    public enum List: String, Hashable, Sendable, CaseIterable {
        case protect = "route.protect"
        case bypass = "route.bypass"
        case always = "preset.always"
        case lastResort = "preset.last_resort"
        case bogus = "answers.bogus"
    }

    /// 1 or more; a machine takes no document with a lower one than it has had.
    @Setting("serial", .integer(in: 1...Int.max), default: "required") public var serial = 0
    /// From then on it is not taken, and dropped where it is in force; seconds since 1970.
    @Setting("expires", .timeOfDay, default: "required") public var expires: Int64 = 0
    /// In percent of all machines, 1 to 100.
    @Setting("share", .integer(in: 1...100)) public var share = 100
    /// The machine must have one of them; empty: all machines.
    @Setting("labels", .labels) public var labels: [String] = []
    /// Whether names go to LocalDNS, whatever `httpdnsd switch` says; else it is as on each machine.
    @Setting("switch", .choice(among: [("on", false), ("off", true)])) public var switchesOff = false
    /// Names of providers that are asked first, in this order; each once.
    @Setting("provider_order", .list(of: .identifier("name", maximumLength: 32), "list of names"))
    public var providerOrder: [String] = []
    @Setting("replace", .list(of: .choice(), "list of keys")) public var replace: [List] = []

    mutating func finish(_ keys: TableKeys) {
        // Not refused: an earlier release has signed such documents.
        var named: Set<String> = []
        providerOrder = providerOrder.filter { named.insert($0).inserted }
        for (key, example) in [("serial", "serial = 1"), ("expires", "expires = 2030-01-31T00:00:00Z")] {
            guard !keys.isWritten(key), keys.isUsable(key) else { continue }
            keys.fail(key, "is missing; write \(example)")
        }
    }

    /// Whether it is for a machine.
    ///
    /// - Parameter percentile: 0 to 99, the machine's place among all.
    public func isFor(percentile: Int, labels: [String]) -> Bool {
        percentile < share && (self.labels.isEmpty || self.labels.contains { labels.contains($0) })
    }
}

extension Kind where Value == [String] {
    static var labels: Kind { .list(of: .identifier("label", least: 1, maximumLength: 32), "list of labels") }
}

extension Kind where Value == Int64 {
    /// A date and time in UTC, seconds since 1970.
    fileprivate static var timeOfDay: Kind {
        Kind(
            type: "date and time",
            read: { node, path, reading in
                let expected = "must be a date and time in UTC without quotes, such as 2030-01-31T00:00:00Z"
                guard case .date(let text) = node.value else {
                    reading.fail(path, "\(expected), not \(node.kindName)")
                    return nil
                }
                guard let seconds = TOMLDate.seconds(text) else {
                    reading.fail(path, "\(expected), not \(text)")
                    return nil
                }
                return seconds
            }, write: { String($0) })
    }
}
