package import DNSWire

/// The whole configuration, read and checked: every value has its type, every key its default.
package struct Configuration: SettingsTable {
    package var listen = Listen()
    /// Of the HTTPDNS service that this server offers; empty: only requests without credentials are answered.
    package var accounts: [AccountEntry] = []
    /// Asked in this order.
    package var providers: [ProviderEntry] = []
    package var route = Route()
    package var forwards: [Forward] = []
    package var localDNS = LocalDNSSettings()
    package var cache = CacheSettings()
    package var preset = Preset()
    package var answers = AnswerSettings()
    package var policy = PolicySettings()
    package var control = ControlSettings()
    package var http = HTTPSettings()
    package var limits = LimitSettings()
    package var log = LogSettings()

    /// Where the entries of lists stand, when a file was read.
    var lines = ListLines()

    package init() {}

    /// Of all that decides which source answers a name, and how.
    package var answerIdentity: AnswerIdentity { AnswerIdentity(self) }

    static let settings: [Setting<Configuration>] = [
        Setting("listen", \.listen, .table, shapesAnswers: false, "Where clients are served, and which."),
        Setting(
            "account", \.accounts, .tables(), shapesAnswers: false, "The accounts of the HTTPDNS service offered here."),
        Setting("provider", \.providers, .tables(), shapesAnswers: true, "The HTTPDNS services, asked in this order."),
        Setting("route", \.route, .table, shapesAnswers: true, "Which names go where."),
        Setting("forward", \.forwards, .tables(), shapesAnswers: true, "Names that given servers answer."),
        Setting("localdns", \.localDNS, .table, shapesAnswers: true, "The network's own resolvers."),
        Setting("cache", \.cache, .table, shapesAnswers: false, "Cached answers."),
        Setting("preset", \.preset, .table, shapesAnswers: false, "Static addresses."),
        Setting("answers", \.answers, .table, shapesAnswers: true, "What answers may hold."),
        Setting(
            "policy", \.policy, .table, shapesAnswers: false, "A document for many machines, signed by an operator."),
        Setting("control", \.control, .table, shapesAnswers: false, "How a running server is queried and controlled."),
        Setting("http", \.http, .table, shapesAnswers: false, "How HTTP requests leave."),
        Setting("limits", \.limits, .table, shapesAnswers: false, "What the server may use."),
        Setting("log", \.log, .table, shapesAnswers: false, "What is logged."),
    ]

    mutating func finish(at path: SettingPath, _ reading: Reading) {
        nameProviders(reading)
        checkMode(reading)
        checkLoops(reading)
        checkSharedLimits(reading)
        checkSuffixes(reading)
        checkProtection(reading)
        checkBilling(reading)
        checkLimits(reading)
        checkLocalTTL(reading)
        checkPolicy(reading)
        checkAccounts(reading)
    }
}

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
