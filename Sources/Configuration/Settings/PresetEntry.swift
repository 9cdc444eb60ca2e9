package import DNSWire

/// Static addresses of one name, or of all names below it.
package struct PresetEntry: Sendable {
    /// Lower-cased; for a wildcard the part after `*.`.
    package var name: Name
    /// Written `*.name`: every name below it, not itself.
    package var isWildcard: Bool
    /// Where it stands in its file, counted from 1; no part of it.
    package var line: UInt32
    /// At least one.
    package var addresses: [IPAddress]

    /// As it stands in the file, in lower case.
    var writtenName: String { (isWildcard ? "*." : "") + name.description }
}

extension PresetEntry: Hashable {
    package static func == (left: PresetEntry, right: PresetEntry) -> Bool {
        left.name == right.name && left.isWildcard == right.isWildcard && left.addresses == right.addresses
    }

    package func hash(into hasher: inout Hasher) {
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
        for (number, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
        {
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
                    finish()
                    return
                }
                add(String(decoding: field, as: UTF8.self), address, line: number + 1)
            }
        }
        finish()
    }

    private mutating func add(_ text: String, _ address: IPAddress, line: Int) {
        do throws(ValueProblem) {
            guard !text.contains("*") else { throw ValueProblem("has a *, which only preset.always knows") }
            let name = try HostName.parse(text)
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

    private mutating func finish() {
        if badLines > Self.reportedLines { problems.append((nil, "\(badLines - Self.reportedLines) more like these")) }
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
