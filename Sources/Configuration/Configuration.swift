package import DNSResolver
import DNSWire

/// The whole configuration, read and checked: every value has its type, every key its default.
package struct Configuration: SettingsTable {
    /// Where clients are served, and which.
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
        Setting("listen", \.listen, .table),
        Setting("account", \.accounts, .tables()),
        Setting("provider", \.providers, .tables(), shapesAnswers: true),
        Setting("route", \.route, .table, shapesAnswers: true),
        Setting("forward", \.forwards, .tables(), shapesAnswers: true),
        Setting("localdns", \.localDNS, .table, shapesAnswers: true),
        Setting("cache", \.cache, .table),
        Setting("preset", \.preset, .table),
        Setting("answers", \.answers, .table, shapesAnswers: true),
        Setting("policy", \.policy, .table),
        Setting("control", \.control, .table),
        Setting("http", \.http, .table),
        Setting("limits", \.limits, .table),
        Setting("log", \.log, .table),
    ]

    mutating func finish(_ keys: TableKeys) {
        let reading = keys.reading
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

extension Configuration {
    /// Where an entry that decides about a name was read, such as `/etc/httpdnsd/httpdnsd.toml:40`; nil for one that no file has.
    ///
    /// - Parameters:
    ///   - rule: its name in lower case.
    ///   - file: the path of the configuration.
    package func place(of rule: RoutingRule, file: String) -> String? {
        let line: Int?
        switch rule {
        case .protect(let name): line = self.line(of: name, route.protect, SettingPath("route", "protect"))
        case .bypass(let name): line = self.line(of: name, route.bypass, SettingPath("route", "bypass"))
        case .network(let name):
            line = route.networkNames.flatMap { self.line(of: name, $0, SettingPath("route", "network_names")) }
        case .forward(let index, let name):
            guard forwards.indices.contains(index) else { return nil }
            line = self.line(of: name, forwards[index].suffixes, SettingPath.forward(index).appending(key: "suffixes"))
        case .provider(let name):
            let index = providers.firstIndex { $0.names.contains(name) }
            line = index.flatMap { index in
                providers[index].names.firstIndex(of: name).flatMap {
                    lines[SettingPath.provider(index).appending(key: "names")]?[$0]
                }
            }
        case .preset(let name, let isWildcard):
            let isIt = { (entry: PresetEntry) in entry.isWildcard == isWildcard && entry.name == name }
            guard let entry = preset.always.first(where: isIt) else {
                return preset.hosts.first(where: isIt).map { "\(preset.hostsFile):\($0.line)" }
            }
            line = Int(entry.line)
        }
        return line.map { "\(file):\($0)" }
    }

    private func line(of name: Name, _ names: NameList, _ path: SettingPath) -> Int? {
        let suffix = NameSuffix(name)
        for (number, place) in names.indices.enumerated() where names.holds(suffix, at: place) {
            return lines[path]?[number]
        }
        return nil
    }
}
