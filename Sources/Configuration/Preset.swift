package import DNSWire

/// Addresses given by hand for one name, or for all names below it.
package struct PresetEntry: Hashable, Sendable {
    /// Lower-cased; for a wildcard the part after `*.`.
    package var name: Name
    /// Written `*.name`: every name below it, not itself.
    package var isWildcard: Bool
    /// At least one.
    package var addresses: [IPAddress]
}

extension Configuration {
    /// `[preset]`.
    package struct Preset: SettingsTable {
        /// Answered without asking anyone.
        package var always: [PresetEntry] = []
        /// Answered when nobody else could.
        package var lastResort: [PresetEntry] = []
        /// Looked up at start.
        package var preresolve: [Name] = []
        /// Absolute path in the form of `/etc/hosts`; empty: none.
        package var hostsFile = ""

        package init() {}

        static let settings: [Setting<Preset>] = [
            Setting("always", \.always, .presets, "Names with their addresses, answered without asking anyone."),
            Setting(
                "last_resort", \.lastResort, .presets, "Names with their addresses, answered when nobody else could."),
            Setting("preresolve", \.preresolve, .list(of: .name, "list of names"), "Names looked up at start."),
            Setting("hosts_file", \.hostsFile, .path(), "A file like /etc/hosts with more addresses; empty for none."),
        ]
    }
}

extension Kind where Value == [PresetEntry] {
    /// A table from names to lists of addresses, sorted by name.
    static var presets: Kind {
        let addresses = Kind<[IPAddress]>.list(of: .address, "list of IP addresses")
        return Kind(
            type: "table of names with lists of IP addresses",
            read: { node, path, reading in
                guard case .table(let pairs) = node else {
                    reading.fail(path, "must be a table such as { \"www.example.com\" = [\"192.0.2.1\"] }")
                    return nil
                }
                let entries = pairs.map { entry($0, path.appending(key: $0.key), reading, addresses) }
                return entries.contains(nil) ? nil : entries.compactMap { $0 }
            },
            write: { entries in
                if entries.isEmpty { return "{ }" }
                let texts = entries.map {
                    quoted(($0.isWildcard ? "*." : "") + $0.name.description) + " = " + addresses.write($0.addresses)
                }
                return "{ \(texts.joined(separator: ", ")) }"
            })
    }

    private static func entry(
        _ pair: TOMLNode.Pair, _ path: SettingPath, _ reading: Reading, _ addresses: Kind<[IPAddress]>
    ) -> PresetEntry? {
        if case .table = pair.value {
            reading.fail(
                path, "is not a list of addresses; a name with dots must be quoted: \"www.example.com\" = [...]")
            return nil
        }
        let isWildcard = pair.key.hasPrefix("*.")
        let list = addresses.read(pair.value, path, reading)
        do throws(ValueProblem) {
            let name = try parseName(isWildcard ? String(pair.key.dropFirst(2)) : pair.key)
            guard !name.description.contains("*") else {
                throw ValueProblem("may have its * only at the start, as in *.x")
            }
            guard let list else { return nil }
            guard !list.isEmpty else { throw ValueProblem("must have at least one address") }
            return PresetEntry(name: name, isWildcard: isWildcard, addresses: list)
        } catch {
            reading.fail(path, "\(quoted(pair.key)) \(error.text)")
            return nil
        }
    }
}
