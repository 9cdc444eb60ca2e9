package import DNSWire

/// The lists of suffixes and static addresses that decide about names.
package enum RuleList: Hashable, Sendable {
    case protect, bypass, networkNames
    /// Of the `[[forward]]` with this index, counted from 0.
    case forward(Int)
    /// The `names` of any provider.
    case providerNames
    /// `preset.always`, and behind it `preset.hosts_file`.
    case presets(isWildcard: Bool)
}

extension Configuration {
    /// Where an entry of a list was read, such as `/etc/httpdnsd/httpdnsd.toml:40`; nil for one that no file has.
    ///
    /// - Parameters:
    ///   - name: the entry, in lower case; of a wildcard the part after `*.`.
    ///   - file: the path of the configuration.
    package func place(of name: Name, in list: RuleList, file: String) -> String? {
        let route = SettingPath.root.appending(key: "route")
        switch list {
        case .protect: return line(of: name, self.route.protect, route.appending(key: "protect")).map(place)
        case .bypass: return line(of: name, self.route.bypass, route.appending(key: "bypass")).map(place)
        case .networkNames:
            return self.route.networkNames.flatMap { line(of: name, $0, route.appending(key: "network_names")) }
                .map(place)
        case .forward(let index):
            guard forwards.indices.contains(index) else { return nil }
            return line(of: name, forwards[index].suffixes, SettingPath.forward(index).appending(key: "suffixes"))
                .map(place)
        case .providerNames:
            for (index, provider) in providers.enumerated() {
                guard let number = provider.names.firstIndex(of: name) else { continue }
                return lines[SettingPath.provider(index).appending(key: "names")]?[number].map(place)
            }
            return nil
        case .presets(let isWildcard):
            let isIt = { (entry: PresetEntry) in entry.isWildcard == isWildcard && entry.name == name }
            if let entry = preset.always.first(where: isIt) { return place(Int(entry.line)) }
            return preset.hosts.first(where: isIt).map { "\(preset.hostsFile):\($0.line)" }
        }

        func place(_ line: Int) -> String { "\(file):\(line)" }
    }

    private func line(of name: Name, _ names: NameList, _ path: SettingPath) -> Int? {
        let suffix = NameSuffix(name)
        for (number, place) in names.indices.enumerated() where names.holds(suffix, at: place) {
            return lines[path]?[number]
        }
        return nil
    }
}
