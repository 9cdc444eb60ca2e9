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
