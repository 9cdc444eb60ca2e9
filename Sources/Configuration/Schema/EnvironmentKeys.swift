/// Keys of the configuration that are set by variables of the environment, for files whose variables begin with `HTTPDNSD_`, as
/// the container's: `cache.disk.path` by `HTTPDNSD_CACHE_DISK_PATH`, the `type` of the first `[[provider]]` by
/// `HTTPDNSD_PROVIDER_1_TYPE`.
///
/// A variable goes before the value that the file has. In a list it holds any number of items, separated by commas.
enum EnvironmentKeys {
    /// The most entries of an array of tables.
    fileprivate static let mostEntries = 64

    /// The variable of a key, with the number 1; nil for a table of names, which none can hold.
    static func name(_ key: SchemaKey) -> String? { key.hasVariable ? key.variable(key.entries.lowerBound) : nil }

    /// Puts them into a document, if it reads such variables.
    ///
    /// - Parameter read: the variables that the file reads itself.
    /// - Returns: why a variable cannot be taken: one line each.
    static func put(
        _ environment: [String: String], into document: TOMLNode, read: Set<String>, schema: [SchemaKey]
    ) -> [String] {
        guard !read.isEmpty, let root = document.table else { return [] }
        var problems: [String] = []
        var wanted: [(variable: String, key: SchemaKey, entry: Int)] = []
        for key in schema where key.hasVariable {
            for entry in key.entries {
                let name = key.variable(entry)
                if environment[name]?.isEmpty == false, !read.contains(name) { wanted.append((name, key, entry)) }
            }
        }
        // So that the second entry comes after the first.
        for (name, key, entry) in wanted.sorted(by: { ($0.entry, $0.variable) < ($1.entry, $1.variable) }) {
            guard let table = table(of: key, entry, in: root) else {
                problems.append(
                    "the environment variable \(name) is for an entry after a gap: number the entries of [[\(key.steps[0])]] from 1"
                )
                continue
            }
            let last = key.steps[key.steps.count - 1]
            if let other = table[last]?.variables.first(where: { environment[$0]?.isEmpty == false }) {
                problems.append("the environment variables \(name) and \(other) are for one key: unset one of them")
            }
            let text = TOMLNode(value: .string("${\(name)}"), line: table[last]?.line ?? 0)
            let isWord = environment[name] == "auto"
            table.put(last, key.isList && !isWord ? TOMLNode(value: .array([text]), line: text.line) : text)
        }
        return problems
    }

    /// The table that a key is in, made where there is none; nil where that would leave a gap.
    private static func table(of key: SchemaKey, _ entry: Int, in root: TOMLTable) -> TOMLTable? {
        var table = root
        for (index, step) in key.steps.dropLast().enumerated() {
            if index == 0, key.isInArray {
                let nodes = table[step]?.list ?? []
                guard entry <= nodes.count + 1 else { return nil }
                let next = entry > nodes.count ? table.entry(step, line: 0) : nodes[entry - 1].table
                guard let next else { return nil }
                table = next
            } else {
                guard let next = table[step].map(\.table) ?? table.table(step, .header, line: 0) else { return nil }
                table = next
            }
        }
        return table
    }
}

extension EnvironmentKeys {
    /// What the names of variables for a configuration begin with.
    fileprivate static let prefix = "HTTPDNSD_"

    /// Those with the prefix that a file reads itself: such a file, as the container's, claims all such names.
    static func read(by document: TOMLNode) -> Set<String> { Set(document.variables.filter { $0.hasPrefix(prefix) }) }

    /// What is said of variables that were meant for a file and that it does not read: a misspelt one would be ignored
    /// silently. Sorted by name; none for a file that reads no variable with the prefix.
    ///
    /// - Parameter read: those that the file reads itself, or that were put into it.
    static func unread(_ environment: [String: String], read: Set<String>, schema: [SchemaKey]) -> [String] {
        guard !read.isEmpty else { return [] }
        let names = schema.compactMap { name($0) }
        // What the file has goes before what its rule makes of its keys.
        let endings = read.sorted().map { String($0.dropFirst(prefix.count)) }
        return environment.filter { !$0.value.isEmpty && !read.contains($0.key) && isMeant($0.key) }
            .keys.sorted().map { name in
                // Without what all have in common, which would make any of them near.
                let word = String(name.dropFirst(prefix.count))
                let near =
                    nearest(to: word, among: endings)
                    ?? nearest(to: word, among: names.map { String($0.dropFirst(prefix.count)) })
                let hint = near.map { "did you mean \(prefix)\($0)?" } ?? "unset it, or read it in this file"
                return "the environment variable \(name) is set, but not read by this file; \(hint)"
            }
    }

    /// Whether a variable is for a configuration, and not one of those that Kubernetes sets in all pods beside a Service
    /// of the name httpdnsd, or httpdnsd and more.
    private static func isMeant(_ name: String) -> Bool {
        guard name.hasPrefix(prefix), Variables.isName(name) else { return false }
        let parts = name.split(separator: "_")
        return parts.last != "PORT" && !name.contains("_PORT_") && !name.hasSuffix("_SERVICE_HOST")
    }
}

extension SchemaKey {
    /// A table of names has no place in one variable.
    fileprivate var hasVariable: Bool { !type.hasPrefix("table") }
    fileprivate var isInArray: Bool { path.contains("[].") }
    fileprivate var isList: Bool { type.firstRange(of: "list of") != nil }
    fileprivate var steps: [String] { path.replacing("[]", with: "").split(separator: ".").map(String.init) }
    /// The entries for which there are variables; 0 where its table is not one of several.
    fileprivate var entries: ClosedRange<Int> { isInArray ? 1...EnvironmentKeys.mostEntries : 0...0 }

    /// The variable for an entry.
    fileprivate func variable(_ entry: Int) -> String {
        let words = steps.prefix(1) + (isInArray ? ["\(entry)"] : []) + steps.dropFirst()
        return EnvironmentKeys.prefix + words.joined(separator: "_").uppercased()
    }
}

extension TOMLNode {
    /// The variables in all its texts.
    var variables: [String] {
        switch value {
        case .string(let text): WrittenText.variables(in: text)
        case .array(let nodes): nodes.flatMap(\.variables)
        case .table(let table): table.pairs.flatMap(\.node.variables)
        case .variable, .integer, .float, .boolean, .date: []
        }
    }
}
