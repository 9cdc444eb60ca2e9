public import DNSResolver
public import DNSWire
import Platform

/// The whole configuration, read and checked: every value has its type, every key its default.
public struct Configuration: SettingsTable {
    /// Where clients are served, and which.
    @Setting("listen", .table) public var listen = Listen()
    /// Of the HTTPDNS service that this server offers; empty: only requests without credentials are answered.
    @Setting("account", .tables()) public var accounts: [AccountEntry] = []
    /// Asked in this order.
    @Setting("provider", .tables(), shapesAnswers: true) public var providers: [ProviderEntry] = []
    @Setting("route", .table, shapesAnswers: true) public var route = Route()
    @Setting("forward", .tables(), shapesAnswers: true) public var forwards: [Forward] = []
    @Setting("localdns", .table, shapesAnswers: true) public var localDNS = LocalDNSSettings()
    @Setting("cache", .table) public var cache = CacheSettings()
    @Setting("preset", .table) public var preset = Preset()
    @Setting("answers", .table, shapesAnswers: true) public var answers = AnswerSettings()
    @Setting("policy", .table) public var policy = PolicySettings()
    @Setting("control", .table) public var control = ControlSettings()
    @Setting("http", .table) public var http = HTTPSettings()
    @Setting("limits", .table) public var limits = LimitSettings()
    @Setting("log", .table) public var log = LogSettings()

    /// Where the entries of lists stand, when a file was read.
    var lines = ListLines()

    /// Every key, made from the settings that the decoder itself reads with; in the order of the file. Tables are not listed,
    /// only what is in them.
    public static let allKeys: [SchemaKey] = schemaKeys

    /// The identity of all that decides which source answers a name, and how.
    public var answerIdentity: String { identity }

    mutating func finish(_ keys: TableKeys) {
        let reading = keys.reading
        nameProviders(reading)
        checkMode(reading)
        checkLoops(reading)
        checkControlAddress(reading)
        checkEffects(reading)
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
    /// - Parameter rule: its name in lower case.
    public func place(of rule: RoutingRule, file: String) -> String? {
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
                    lines[SettingPath.provider(index).appending(key: "names"), $0]
                }
            }
        case .preset(let name, let isWildcard):
            guard let entry = preset.always.first(where: { $0.isFor(name, isWildcard) }) else {
                return preset.hosts.first { $0.isFor(name, isWildcard) }.map { "\(preset.hostsFile):\($0.line)" }
            }
            line = Int(entry.line)
        }
        return line.map { "\(file):\($0)" }
    }

    private func line(of name: Name, _ names: NameList, _ path: SettingPath) -> Int? {
        let suffix = NameSuffix(name)
        for (number, place) in names.indices.enumerated() where names.holds(suffix, at: place) {
            return lines[path, number]
        }
        return nil
    }
}

/// A configuration that can be used, and what the user should know about it.
public struct LoadedConfiguration: Sendable {
    public fileprivate(set) var configuration: Configuration
    /// Sorted by line, those without one at the end; then those about other files that it names.
    public fileprivate(set) var warnings: [Diagnostic]
    /// The keys whose secret the file holds itself.
    fileprivate let secrets: [String]

    /// The same with other addresses to listen at.
    public func listening(at addresses: [AddressAndPort]) -> LoadedConfiguration {
        var changed = self
        changed.configuration.listen.addresses = addresses
        return changed
    }
}

extension Configuration {
    /// The duration that a text such as `1.5s` or `30m` means; nil for any other text.
    public static func duration(of text: String) -> Duration? { try? Duration(written: text) }

    /// The most bytes of a configuration file: 1 MiB.
    public static let maximumFileSize = 1 << 20

    /// Reads and checks a file, and the secret files it names.
    ///
    /// - Parameters:
    ///   - path: as the user gave it; begins every message.
    ///   - variables: for `${VARIABLE}`.
    ///   - isStart: whether the copy that systemd made for the start of this process stands for a file that it may not read
    ///     itself (`Variables.credential`). Later the copy may be an old one.
    /// - Throws: all errors of the file together.
    public static func load(
        path: String, _ variables: Variables, isStart: Bool = false
    ) throws(ConfigurationError) -> LoadedConfiguration {
        let bytes = try fileBytes(path, variables, takesCopy: isStart)
        var loaded = try parse(bytes: bytes, file: path, environment: try variables.read())
        loaded.warnings += exposed(loaded, path, variables)
        return loaded
    }

    /// What is said of the file, of that of its variables and of the certificate's key when others can read the secrets in
    /// them, or change them.
    private static func exposed(_ loaded: LoadedConfiguration, _ path: String, _ variables: Variables) -> [Diagnostic] {
        var found: [Diagnostic] = []
        if let access = PublicAccess(of: path) {
            let holds = loaded.secrets.first.map { "holds secrets, such as \($0), and " } ?? ""
            if let danger = access.danger, access.writes || !loaded.secrets.isEmpty {
                found.append(Diagnostic(file: path, message: holds + danger))
            }
        }
        for file in [variables.file, loaded.configuration.listen.key].compactMap(\.self) where !file.isEmpty {
            if let danger = PublicAccess(of: file)?.danger { found.append(Diagnostic(file: file, message: danger)) }
        }
        return found
    }

    /// Reads only some tables of a file, for commands that need no more: the rest may be wrong, or hold variables that are
    /// not set here. A file that is not there is one without any table.
    ///
    /// - Parameter tables: such as `control`.
    /// - Throws: all errors of these tables together, or that the file cannot be read.
    public static func loadTables(
        _ tables: Set<String>, path: String, _ variables: Variables
    ) throws(ConfigurationError) -> Configuration {
        let bytes = try fileBytes(path, variables, ifMissing: [], takesCopy: true)
        let document = try document(bytes, file: path)
        let reading = Reading(file: path, document: document, environment: try variables.read())
        let configuration = Configuration.read(only: tables, of: document, reading)
        try reading.check()
        return configuration
    }

    private static func fileBytes(
        _ path: String, _ variables: Variables, ifMissing replacement: [UInt8]? = nil, takesCopy: Bool
    ) throws(ConfigurationError) -> [UInt8] {
        do throws(ValueProblem) {
            return try wholeFile(path, limit: maximumFileSize, ifMissing: replacement)
        } catch {
            var problem = error
            if error.isDenied, let copy = variables.credential(for: path),
                let bytes = try? wholeFile(copy, limit: maximumFileSize)
            {
                if takesCopy { return bytes }
                problem.isOfTheStart = true
                problem.text +=
                    "; the server has the copy that systemd made at its start, and "
                    + "`systemctl restart httpdnsd` takes the file as it is now"
            }
            throw ConfigurationError(path, problem)
        }
    }

    /// The tree of a text; `file` only begins the message.
    static func document(_ bytes: [UInt8], file: String) throws(ConfigurationError) -> TOMLNode {
        do throws(SyntaxProblem) {
            return try TOMLReader.read(bytes)
        } catch {
            let diagnostic = Diagnostic(file: file, line: error.line, column: error.column, message: error.message)
            throw ConfigurationError(diagnostics: [diagnostic])
        }
    }

    /// The same for any bytes whatever; `file` only begins the messages.
    public static func parse(
        bytes: [UInt8], file: String = "httpdnsd.toml", environment: [String: String] = [:]
    ) throws(ConfigurationError) -> LoadedConfiguration {
        if let problem = ValueProblem(of: bytes, limit: maximumFileSize) { throw ConfigurationError(file, problem) }
        let document = try document(bytes, file: file)
        let read = EnvironmentKeys.read(by: document)
        let reading = Reading(file: file, document: document, environment: environment)
        for problem in EnvironmentKeys.put(environment, into: document, read: read, schema: allKeys) {
            reading.fail(.root, problem)
        }
        var configuration = Configuration.read(document, .root, reading) ?? Configuration()
        let all = read.union(EnvironmentKeys.read(by: document))
        for message in EnvironmentKeys.unread(environment, read: all, schema: allKeys) {
            reading.fail(.root, message)
        }
        try reading.check()
        configuration.lines = reading.lines
        return LoadedConfiguration(
            configuration: configuration, warnings: Diagnostic.sorted(reading.warnings) + reading.furtherWarnings,
            secrets: reading.secrets.map(\.description))
    }
}
