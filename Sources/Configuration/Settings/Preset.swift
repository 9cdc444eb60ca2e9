public import DNSWire

extension Configuration {
    /// `[preset]`.
    public struct Preset: SettingsTable {
        /// Answered without asking a source.
        @Setting("always", .presets) public var always: [PresetEntry] = []
        /// Answered when no source could.
        @Setting("last_resort", .presets) public var lastResort: [PresetEntry] = []
        /// Looked up at start.
        @Setting("preresolve", .list(of: .name, "list of names")) public var preresolve: [Name] = []
        /// Absolute path in the form of `/etc/hosts`; empty: none.
        @Setting("hosts_file", .path()) public var hostsFile = ""
        /// What `hostsFile` holds; no key of its own.
        public var hosts: [PresetEntry] = []

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
            readHosts(keys)
        }

        /// A file that cannot be read is no reason to serve nothing.
        private mutating func readHosts(_ keys: TableKeys) {
            guard !hostsFile.isEmpty else { return }
            do throws(ValueProblem) {
                let file = HostsFile(try wholeFile(hostsFile, limit: HostsFile.maximumSize))
                hosts = file.entries
                for (line, text) in file.problems {
                    keys.reading.furtherWarnings.append(Diagnostic(file: hostsFile, line: line, message: text))
                }
            } catch {
                keys.warn("hosts_file", "\(quoted(hostsFile)) \(error.text): no addresses are taken from it")
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
            let name = try Name(host: written)
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

/// Static addresses of one name, or of all names below it.
public struct PresetEntry: Sendable {
    /// Lower-cased; for a wildcard the part after `*.`.
    public var name: Name
    /// Written `*.name`: every name below it, not itself.
    public var isWildcard: Bool
    /// Where it stands in its file, counted from 1; no part of it.
    public var line: UInt32
    /// At least one.
    public var addresses: [IPAddress]

    func isFor(_ name: Name, _ isWildcard: Bool) -> Bool { self.name == name && self.isWildcard == isWildcard }

    /// As it stands in the file, in lower case.
    var writtenName: String { (isWildcard ? "*." : "") + name.description }
}

extension PresetEntry: Hashable {
    public static func == (left: PresetEntry, right: PresetEntry) -> Bool {
        left.name == right.name && left.isWildcard == right.isWildcard && left.addresses == right.addresses
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(isWildcard)
    }
}

/// Addresses of names from a file in the form of `/etc/hosts`: an address and its names on each line, `#` begins a comment.
///
/// A name on several lines has the addresses of all of them. A line that cannot be read is left out and reported.
struct HostsFile {
    /// The most bytes of a file: 16 MiB.
    static let maximumSize = 16 << 20
    /// The most names that are taken from one.
    static let maximumNames = 100_000
    /// The most addresses of one name.
    static let maximumAddresses = 64
    /// After so many bad lines only their number is reported.
    static let reportedLines = 10

    private(set) var entries: [PresetEntry] = []
    /// What is wrong with it, and where; lines are counted from 1.
    private(set) var problems: [(line: Int?, text: String)] = []
    private var places: [Name: Int] = [:]
    private var badLines = 0

    /// Reads the bytes of a file.
    init(_ bytes: [UInt8]) {
        let all = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        lines: for (number, line) in all.enumerated() {
            let written = line.prefix { $0 != UInt8(ascii: "#") }
            let fields = written.split {
                $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r")
            }
            guard let first = fields.first else { continue }
            guard let address = IPAddress(String(decoding: first, as: UTF8.self)) else {
                report("does not begin with an IP address", line: number + 1)
                continue
            }
            if fields.count == 1 { report("has an address and no name", line: number + 1) }
            for field in fields.dropFirst() {
                guard entries.count < Self.maximumNames else {
                    problems.append((number + 1, "has more than \(Self.maximumNames) names: the rest is left out"))
                    break lines
                }
                add(String(decoding: field, as: UTF8.self), address, line: number + 1)
            }
        }
        if badLines > Self.reportedLines { problems.append((nil, "\(badLines - Self.reportedLines) more like these")) }
    }

    private mutating func add(_ text: String, _ address: IPAddress, line: Int) {
        do throws(ValueProblem) {
            guard !text.contains("*") else { throw ValueProblem("has a *, which only preset.always knows") }
            let name = try Name(host: text)
            // Every such file has localhost, and it means the same without.
            guard !name.isFixed else { return }
            guard let place = places[name] else {
                places[name] = entries.count
                return entries.append(
                    PresetEntry(name: name, isWildcard: false, line: UInt32(clamping: line), addresses: [address]))
            }
            guard !entries[place].addresses.contains(address) else { return }
            guard entries[place].addresses.count < Self.maximumAddresses else {
                throw ValueProblem("has more than \(Self.maximumAddresses) addresses")
            }
            entries[place].addresses.append(address)
        } catch {
            report("\(quoted(text)) \(error.text)", line: line)
        }
    }

    private mutating func report(_ text: String, line: Int) {
        badLines += 1
        if badLines <= Self.reportedLines { problems.append((line, text)) }
    }
}

extension Name {
    private static let fixed = Set(["localhost", "invalid", "onion"].compactMap { try? Name($0) })

    /// Whether it means the same everywhere, and nothing in a configuration changes that (RFC 6761, RFC 7686).
    var isFixed: Bool {
        guard let last = labels.last, let top = try? Name.root.prepending(label: last) else { return false }
        return Self.fixed.contains(top)
    }
}
