/// Environment variables that were meant for a file and that it does not read: a misspelt one would be ignored silently.
///
/// A file that reads a variable whose name begins with `HTTPDNSD_`, as the container's does, claims all such names. For
/// any other file there are none.
struct UnreadVariables {
    static let prefix = "HTTPDNSD_"

    /// Sorted by name.
    let messages: [String]

    /// Those that a file reads itself.
    static func read(by document: TOMLNode) -> Set<String> { Set(document.variables.filter { $0.hasPrefix(prefix) }) }

    /// - Parameter read: those that the file reads itself, or that `EnvironmentKeys` has put into it.
    init(read: Set<String>, environment: [String: String]) {
        guard !read.isEmpty else {
            messages = []
            return
        }
        // What the file has goes before what its rule makes of its keys.
        let endings = read.sorted().map { String($0.dropFirst(Self.prefix.count)) }
        messages = environment.filter { !$0.value.isEmpty && !read.contains($0.key) && Self.isMeant($0.key) }
            .keys.sorted().map { name in
                // Without what all have in common, which would make any of them near.
                let word = String(name.dropFirst(Self.prefix.count))
                let near =
                    nearest(to: word, among: endings)
                    ?? nearest(to: word, among: EnvironmentKeys.names.map { String($0.dropFirst(Self.prefix.count)) })
                let hint = near.map { "did you mean \(Self.prefix)\($0)?" } ?? "unset it, or read it in this file"
                return "the environment variable \(name) is set, but not read by this file; \(hint)"
            }
    }

    /// Whether a variable is for a configuration, and not one of those that Kubernetes sets in all pods beside a Service
    /// of the name httpdnsd, or httpdnsd and more.
    private static func isMeant(_ name: String) -> Bool {
        guard name.hasPrefix(prefix), WrittenText.isVariableName(name) else { return false }
        let parts = name.split(separator: "_")
        return parts.last != "PORT" && !name.contains("_PORT_") && !name.hasSuffix("_SERVICE_HOST")
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
