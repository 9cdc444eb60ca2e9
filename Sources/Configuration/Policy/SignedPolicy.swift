import DNSResolver
import DNSWire

/// A policy that an operator has signed once for many machines: lists, presets and the switch.
///
/// Its text has the schema of the configuration and a `[document]` table. What only a machine's own file may say has no
/// place in it: providers and their secrets, listeners, paths, and the policy's own key and URL.
public struct SignedPolicy: Sendable {
    public let document: PolicyDocument
    /// Its lists; everything else has its default.
    public let lists: Configuration
    /// The trusted key by which it was verified; nil where it was only read.
    public let key: PolicyKey?

    /// What it may hold beside `document`, by table.
    private static let allowed = [
        "route": ["protect", "bypass"], "preset": ["always", "last_resort"], "answers": ["bogus"],
    ]

    /// Whether a signature of `text` is of `key`.
    public typealias Check = @Sendable (_ text: ArraySlice<UInt8>, _ signature: [UInt8], _ key: PolicyKey) -> Bool

    /// Verifies a signed file, and only then reads it.
    ///
    /// - Parameter file: begins every message.
    /// - Throws: all errors of the file together.
    public static func open(
        _ bytes: [UInt8], file: String, keys: [PolicyKey], check: Check
    ) throws(ConfigurationError) -> SignedPolicy {
        let envelope: PolicyEnvelope
        do throws(ValueProblem) {
            envelope = try PolicyEnvelope(bytes)
        } catch {
            throw ConfigurationError(file, error, line: 1)
        }
        // Each trusted key is tried: the identifier is not signed, and only names the key to people.
        guard let key = keys.first(where: { check(envelope.text, envelope.signature, $0) }) else {
            let trusted = keys.map { quoted($0.id) }.joined(separator: ", ")
            let why =
                keys.contains { $0.id == envelope.keyID }
                ? "was changed after it was signed with the key \(quoted(envelope.keyID))"
                : "is signed with the key \(quoted(envelope.keyID)), and policy.public_key trusts \(trusted)"
            throw ConfigurationError(file, ValueProblem(why), line: 1)
        }
        // With its first line, a comment, so that lines are those of the file.
        return try parse(bytes, file: file, by: key)
    }

    /// Reads a text, signed or not, and verifies nothing.
    ///
    /// - Parameter key: the one by which it has been verified; nil: none.
    public static func parse(
        _ bytes: [UInt8], file: String, by key: PolicyKey? = nil
    ) throws(ConfigurationError) -> SignedPolicy {
        if let problem = ValueProblem(of: bytes, limit: PolicyEnvelope.maximumSize) {
            throw ConfigurationError(file, problem)
        }
        let tree = try Configuration.document(bytes, file: file)
        // Without variables: it means the same on all machines.
        let reading = Reading(file: file, document: tree, environment: [:])
        let document = readDocument(tree, reading)
        refuseOthers(tree, reading)
        try reading.check()
        var lists = Configuration.read(only: Set(allowed.keys), of: tree, reading)
        try reading.check()
        lists.lines = reading.lines
        return SignedPolicy(document: document, lists: lists, key: key)
    }

    private static func readDocument(_ tree: TOMLNode, _ reading: Reading) -> PolicyDocument {
        let path = SettingPath("document")
        if let node = tree["document"] { return PolicyDocument.read(node, path, reading) ?? PolicyDocument() }
        reading.fail(path, "is missing: a policy begins with [document] and its serial and expires")
        return PolicyDocument()
    }

    /// Reports every key that has no place in a policy.
    private static func refuseOthers(_ tree: TOMLNode, _ reading: Reading) {
        for (name, node) in tree.table?.pairs ?? [] where name != "document" {
            let path = SettingPath(name)
            guard let keys = allowed[name], let table = node.table else {
                refuse(path, name, known: ["document"] + allowed.keys.sorted(), reading)
                continue
            }
            for (key, _) in table.pairs where !keys.contains(key) {
                refuse(path.appending(key: key), key, known: keys, reading)
            }
        }
    }

    private static func refuse(_ path: SettingPath, _ key: String, known: [String], _ reading: Reading) {
        let place = path.schemaPath
        guard
            Configuration.allKeys.contains(where: {
                $0.path == place || $0.path.hasPrefix(place + ".") || $0.path.hasPrefix(place + "[]")
            })
        else { return reading.failUnknown(path, key, known: known) }
        let lists = PolicyDocument.List.allCases.map(\.rawValue).joined(separator: ", ")
        reading.fail(
            path, "cannot be in a signed policy, only in a machine's own file; a policy holds document, \(lists)")
    }
}

extension SignedPolicy: Equatable {
    /// Whether both say the same: another key may sign it again.
    public static func == (left: SignedPolicy, right: SignedPolicy) -> Bool {
        left.document == right.document && left.lists == right.lists
    }
}

extension SignedPolicy {
    /// The configuration of a machine with this policy in force.
    ///
    /// Lists are added to those of the file, or replace them. A suffix of the policy's leaves the file's other list, and
    /// its presets go before the file's. Whether names of no list are protected stays as the file has it, except where
    /// the policy replaces `route.protect`.
    public func applied(to base: Configuration) -> Configuration {
        var merged = base
        let (protect, bypass) = (lists.route.protect, lists.route.bypass)
        if document.replace.contains(.protect) {
            merged.route.protect = []
            merged.route.protectsUnlisted = protect.isEmpty
        }
        if document.replace.contains(.bypass) { merged.route.bypass = [] }
        merged.route.protect = Self.joined(merged.route.protect, protect, without: bypass)
        merged.route.bypass = Self.joined(merged.route.bypass, bypass, without: protect)
        if document.replace.contains(.always) { merged.preset.always = [] }
        if document.replace.contains(.lastResort) { merged.preset.lastResort = [] }
        // Of two entries for one name the first one is used.
        merged.preset.always = lists.preset.always + merged.preset.always
        merged.preset.lastResort = lists.preset.lastResort + merged.preset.lastResort
        if document.replace.contains(.bogus) { merged.answers.bogus = [] }
        merged.answers.bogus += lists.answers.bogus.filter { !merged.answers.bogus.contains($0) }
        merged.providers = document.providerOrder.flatMap { name in base.providers.filter { $0.name == name } }
        merged.providers += base.providers.filter { !document.providerOrder.contains($0.name) }
        if document.switchesOff { merged.route.mode = .localDNSOnly }
        return merged
    }

    /// The names of two lists, each once, the second list's last; of the first list those that are not in `others`.
    private static func joined(_ first: NameList, _ second: NameList, without others: NameList) -> NameList {
        if second.isEmpty, others.isEmpty { return first }
        let gone = Set(second).union(others)
        return NameList(first.filter { !gone.contains($0) } + Array(second))
    }

    /// What it changes, one line each; empty: nothing.
    public var changes: [String] {
        var lines: [String] = []
        if document.switchesOff { lines.append("switches HTTPDNS off") }
        let counts: [(PolicyDocument.List, Int, String)] = [
            (.protect, lists.route.protect.count, "name"), (.bypass, lists.route.bypass.count, "name"),
            (.always, lists.preset.always.count, "name"), (.lastResort, lists.preset.lastResort.count, "name"),
            (.bogus, lists.answers.bogus.count, "network"),
        ]
        for (list, count, noun) in counts {
            let amount = "\(count) \(noun)\(count == 1 ? "" : "s")"
            if document.replace.contains(list) {
                lines.append("replaces \(list.rawValue) with \(amount)")
            } else if count > 0 {
                lines.append("adds \(amount) to \(list.rawValue)")
            }
        }
        if !document.providerOrder.isEmpty {
            lines.append("asks first: \(document.providerOrder.joined(separator: ", "))")
        }
        if document.share < 100 { lines.append("is for \(document.share) % of the machines") }
        if !document.labels.isEmpty {
            lines.append("is for machines with one of the labels \(document.labels.joined(separator: ", "))")
        }
        return lines
    }
}

/// What a machine does with a verified policy.
public enum PolicyDecision: Equatable, Sendable {
    case take
    /// The machine has it already.
    case same
    /// Not for this machine, by share or labels: what is in force stays.
    case elsewhere
    /// Why not, as the end of a sentence that begins with the file.
    case refuse(String)

    /// - Parameters:
    ///   - present: the document that was taken last, in force or not; nil: none.
    ///   - now: seconds since 1970.
    public init(on policy: SignedPolicy, after present: SignedPolicy?, now: Int64, isForMachine: Bool) {
        let serial = policy.document.serial
        if let present, policy == present {
            self = .same
        } else if let present, serial < present.document.serial {
            self = .refuse(
                "has the serial \(serial), and this machine has had \(present.document.serial): it is old, or replayed;"
                    + " a new one needs a higher serial")
        } else if let present, serial == present.document.serial {
            self = .refuse(
                "has the serial \(serial) of another document that this machine has had: a new one needs a higher serial"
            )
        } else if policy.document.expires <= now {
            self = .refuse("has expired; sign it again with a higher serial and a later document.expires")
        } else {
            self = isForMachine ? .take : .elsewhere
        }
    }
}
