package import DNSWire

extension Configuration {
    /// `[preset]`.
    package struct Preset: SettingsTable {
        /// Answered without asking a source.
        @Setting("always", .presets) package var always: [PresetEntry] = []
        /// Answered when no source could.
        @Setting("last_resort", .presets) package var lastResort: [PresetEntry] = []
        /// Looked up at start.
        @Setting("preresolve", .list(of: .name, "list of names")) package var preresolve: [Name] = []
        /// Absolute path in the form of `/etc/hosts`; empty: none.
        @Setting("hosts_file", .path()) package var hostsFile = ""
        /// What `hostsFile` holds; no key of its own.
        package var hosts: [PresetEntry] = []

        package init() {}

        mutating func finish(_ keys: TableKeys) {
            for (key, entries) in [("always", always), ("last_resort", lastResort)] {
                for entry in entries where entry.name.isFixed {
                    keys.warn(key, "\(quoted(entry.writtenName)) has no effect: it means the same everywhere")
                }
            }
            let known = Set(always.filter { !$0.isWildcard }.map(\.name))
            for entry in lastResort where !entry.isWildcard && known.contains(entry.name) {
                keys.warn("last_resort", "\(quoted(entry.writtenName)) has no effect: preset.always has it too")
            }
            readHosts(keys.reading)
        }

        /// A file that cannot be read is no reason to serve nothing.
        private mutating func readHosts(_ reading: Reading) {
            guard !hostsFile.isEmpty else { return }
            do throws(ValueProblem) {
                let file = HostsFile(try wholeFile(hostsFile, limit: HostsFile.maximumSize))
                hosts = file.entries
                for (line, text) in file.problems {
                    reading.warn(Diagnostic(file: hostsFile, line: line, message: text))
                }
            } catch {
                reading.warn(Diagnostic(file: hostsFile, message: "\(error.text): no addresses are taken from it"))
            }
        }
    }
}

extension Kind where Value == [PresetEntry] {
    /// A table from names to lists of addresses, sorted by name.
    static var presets: Kind {
        let addresses = Kind<[IPAddress]>.list(of: .address, "list of IP addresses")
        return Kind(
            type: "table of names with lists of IP addresses",
            read: { node, path, reading in
                guard case .table(let table) = node.value else {
                    reading.fail(path, "must be a table such as { \"www.example.com\" = [\"192.0.2.1\"] }")
                    return nil
                }
                var (entries, keys): ([PresetEntry?], [String: String]) = ([], [:])
                for (key, node) in table.pairs.sorted(by: { $0.key < $1.key }) {
                    let path = path.appending(key: key)
                    let entry = entry(key, node, path, reading, addresses)
                    if let entry, let other = keys.updateValue(key, forKey: entry.writtenName) {
                        reading.fail(path, "\(quoted(key)) and \(quoted(other)) are one name: leave out one of them")
                    }
                    entries.append(entry)
                }
                return entries.contains(nil) ? nil : entries.compactMap { $0 }
            },
            write: { entries in
                if entries.isEmpty { return "{ }" }
                let texts = entries.map {
                    written($0.writtenName) + " = " + addresses.write($0.addresses)
                }
                return "{ \(texts.joined(separator: ", ")) }"
            })
    }

    private static func entry(
        _ key: String, _ node: TOMLNode, _ path: SettingPath, _ reading: Reading, _ addresses: Kind<[IPAddress]>
    ) -> PresetEntry? {
        if case .table = node.value {
            reading.fail(
                path, "is not a list of addresses; a name with dots must be quoted: \"www.example.com\" = [...]")
            return nil
        }
        let isWildcard = key.hasPrefix("*.")
        let list = addresses.read(node, path, reading)
        do throws(ValueProblem) {
            let written = isWildcard ? String(key.dropFirst(2)) : key
            guard !written.contains("*") else { throw ValueProblem("may have its * only at the start, as in *.x") }
            let name = try HostName.parse(written)
            guard let list else { return nil }
            guard !list.isEmpty else { throw ValueProblem("must have at least one address") }
            return PresetEntry(
                name: name, isWildcard: isWildcard, line: UInt32(clamping: node.line), addresses: list)
        } catch {
            reading.fail(path, "\(quoted(key)) \(error.text)")
            return nil
        }
    }
}
