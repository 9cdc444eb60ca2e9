package import DNSWire

/// Static addresses, found by name: one hash look-up for a name, and one for each of its parents when there are
/// wildcards.
package struct Presets: Hashable, Sendable {
    private var exact: [Name: [IPAddress]] = [:]
    /// By the part after `*.`.
    private var below: [Name: [IPAddress]] = [:]

    package init() {}

    /// How many entries there are; a wildcard counts as one.
    package var count: Int { exact.count + below.count }

    /// Adds the addresses of a name, unless it has some already: what was added first stays.
    ///
    /// - Parameters:
    ///   - isWildcard: the entry is for all names below `name`, not for itself.
    ///   - addresses: of both families, in the order in which they are answered. Without any, nothing is added.
    package mutating func add(_ name: Name, isWildcard: Bool = false, addresses: [IPAddress]) {
        guard !addresses.isEmpty else { return }
        let name = name.lowercased
        if isWildcard {
            if below[name] == nil { below[name] = addresses }
        } else {
            if exact[name] == nil { exact[name] = addresses }
        }
    }

    /// The addresses of a name in any letter case: its own, else those of the longest wildcard above it.
    package func addresses(of name: Name) -> [IPAddress]? {
        if let own = exact[name] { return own }
        return wildcard(above: name).flatMap { below[$0] }
    }

    /// The entry that has the addresses of a name in lower case.
    func rule(for name: Name) -> RoutingRule? {
        if exact[name] != nil { return .preset(name, isWildcard: false) }
        return wildcard(above: name).map { .preset($0, isWildcard: true) }
    }

    /// The longest one, without its `*.`.
    private func wildcard(above name: Name) -> Name? {
        guard !below.isEmpty else { return nil }
        var suffix = name.parent
        while let current = suffix {
            if below[current] != nil { return current }
            suffix = current.parent
        }
        return nil
    }

    /// The answer to a question for addresses of a preset name.
    ///
    /// A preset covers both families: without addresses of one the answer is NODATA, and no source is asked for it.
    ///
    /// - Parameter ttl: in seconds.
    /// - Returns: nil for another name, or another type than A and AAAA.
    package func answer(to question: Question, ttl: UInt32) -> Answer? {
        guard question.type.isAddress, let addresses = addresses(of: question.name) else { return nil }
        let wanted = addresses.filter { $0.recordType == question.type }
        return wanted.isEmpty
            ? .negative(name: question.name, ttl: ttl) : Answer(name: question.name, addresses: wanted, ttl: ttl)
    }
}
