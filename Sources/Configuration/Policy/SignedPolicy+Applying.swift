import DNSWire

extension SignedPolicy {
    /// The configuration of a machine with this policy in force.
    ///
    /// Lists are added to those of the file, or replace them. A suffix of the policy's leaves the file's other list, and
    /// its presets go before the file's. Whether names of no list are protected stays as the file has it, except where
    /// the policy replaces `route.protect`.
    package func applied(to base: Configuration) -> Configuration {
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
        if document.switch == .off { merged.route.mode = .localDNSOnly }
        return merged
    }

    /// The names of two lists, each once, the second list's last; of the first list those that are not in `others`.
    private static func joined(_ first: NameList, _ second: NameList, without others: NameList) -> NameList {
        if second.isEmpty, others.isEmpty { return first }
        let gone = Set(second).union(others)
        return NameList(first.filter { !gone.contains($0) } + Array(second))
    }

    /// What it changes, one line each; empty: nothing.
    package var changes: [String] {
        var lines: [String] = []
        if document.switch == .off { lines.append("switches HTTPDNS off") }
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
