package import DNSResolver
package import DNSWire

extension Mode {
    /// Whether protected names need a provider.
    var needsProvider: Bool { self == .httpdnsFirst || self == .httpdnsOnly }
}

extension Configuration {
    /// `[route]`: suffixes are lower-cased and match whole labels; the longest match of all lists wins, at equal length
    /// `forward`, then `bypass`.
    package struct Route: SettingsTable {
        /// What answers protected names, and what is the fallback.
        package var mode = Mode.httpdnsFirst
        /// Answered through HTTPDNS, if some provider may. Empty: every such name that nothing else matches.
        package var protect: NameList = []
        /// Answered through LocalDNS.
        package var bypass: NameList = []
        /// Answered through LocalDNS unless another list names them. Nil: the built-in list.
        package var networkNames: NameList?

        /// Whether names of no list are protected: where the file's own `protect` is empty, whatever a signed policy adds
        /// to it or takes from it.
        package var protectsUnlisted = true

        package init() {}

        static let settings: [Setting<Route>] = [
            Setting("mode", \.mode, .choice(), shapesAnswers: true),
            Setting("protect", \.protect, .suffixes, shapesAnswers: true),
            Setting("bypass", \.bypass, .suffixes, shapesAnswers: true),
            Setting("network_names", \.networkNames, .autoOrSuffixes, shapesAnswers: true),
        ]

        mutating func finish(_ keys: TableKeys) { protectsUnlisted = protect.isEmpty }
    }

    /// One `[[forward]]`: names that given servers answer.
    package struct Forward: SettingsTable {
        /// At least one, none of them in another forward.
        package var suffixes: NameList = []
        /// Asked in this order; at least one, none of them this server.
        package var servers: [AddressAndPort] = []

        package init() {}

        static let settings: [Setting<Forward>] = [
            Setting("suffixes", \.suffixes, .suffixes, default: "required", shapesAnswers: true),
            Setting(
                "servers", \.servers, .list(of: .server(defaultPort: 53), "list of servers"), default: "required",
                shapesAnswers: true),
        ]

        mutating func finish(_ keys: TableKeys) {
            let needs = [
                ("suffixes", suffixes.isEmpty, "\"cluster.local\""), ("servers", servers.isEmpty, "\"192.0.2.53\""),
            ]
            for (key, isEmpty, example) in needs where isEmpty {
                if keys.isUsable(key) { keys.fail(key, "must hold at least one entry, such as [\(example)]") }
            }
        }
    }
}

extension Kind where Value == NameList? {
    /// `"auto"`, which is nil, or a list of suffixes.
    fileprivate static var autoOrSuffixes: Kind {
        let list = Kind<NameList>.suffixes
        return Kind(
            type: "auto, or \(list.type)",
            read: { node, path, reading in
                if case .array = node.value { return list.read(node, path, reading).map { .some($0) } }
                guard let text = reading.text(node, path, expected: "\"auto\" or a list of suffixes") else {
                    return nil
                }
                if text.value == "auto" { return .some(nil) }
                reading.fail(path, "must be \"auto\" or a list in brackets such as [\"lan\"]")
                return nil
            },
            write: { $0.map(list.write) ?? "\"auto\"" })
    }
}
