import ArgumentParser
import Configuration
import DNSWire
import Glibc
import HTTPDNS
import Platform

/// Where a running server has its configuration from, for the time when it reads it again.
struct ConfigurationSource: Sendable {
    let path: String
    /// With those of the process at the start: once root is given up, it cannot read its own any more.
    let variables: Variables
    /// What the command line has in place of `listen.addresses`; empty: nothing.
    let listen: [AddressAndPort]
    /// Whether the process gave up root after its start: the next start reads with rights that it has no more.
    var startsAsRoot = false

    /// Reads and checks the file.
    ///
    /// - Parameter isStart: as of `Configuration.load`.
    func load(isStart: Bool = false) throws(ConfigurationError) -> LoadedConfiguration {
        // Reading takes some hundred bytes for each entry of a list, and nothing of it is needed any more.
        defer { returnFreeMemory() }
        let loaded = try Configuration.load(path: path, variables, isStart: isStart)
        return listen.isEmpty ? loaded : loaded.listening(at: listen)
    }

    /// Reads the file and checks it as `httpdnsd check` does.
    ///
    /// - Parameter isRunning: leaves out what a server that runs stays with: its certificate, addresses and user.
    /// - Throws: the lines that `check` would print.
    func check(isRunning: Bool = false) throws(ConfigurationRefusal) -> LoadedConfiguration {
        let loaded: LoadedConfiguration
        do throws(ConfigurationError) {
            loaded = try load()
        } catch {
            throw ConfigurationRefusal(
                lines: error.diagnostics.map(\.description), warnings: [],
                isMendedByRestart: error.diagnostics.allSatisfy { $0.isOfTheStart || startsAsRoot && $0.isDenied })
        }
        let settings = loaded.configuration
        let problems = settings.loopProblems + (isRunning ? [] : settings.certificateProblems + settings.startProblems)
        guard problems.isEmpty else {
            throw ConfigurationRefusal(
                lines: problems, warnings: loaded.warnings.map(\.description) + settings.remarks)
        }
        return loaded
    }
}

/// Why a configuration is not taken.
struct ConfigurationRefusal: Error {
    /// At least one.
    let lines: [String]
    /// What is worth saying besides, where the file could be read.
    let warnings: [String]
    /// Whether another process of the service would take it: what it lacks is given to a process at its start alone.
    var isMendedByRestart = false
}

/// The options of every command that say what the configuration is: `--config` and `--environment`.
struct ConfigurationFile: ParsableArguments {
    static let defaultPath = "/etc/httpdnsd/httpdnsd.toml"

    @Option(
        name: .customLong("config"),
        help: .init("The configuration file. (default: \(ConfigurationFile.defaultPath))", valueName: "file"),
        completion: .file(extensions: ["toml"]))
    private var written: String?

    @Option(
        name: .customLong("environment"),
        help: .init(
            "A file of VARIABLE=value lines, as for EnvironmentFile= of systemd; they go before the environment's.",
            valueName: "file"),
        completion: .file())
    private var environmentFile: String?

    var path: String { written ?? Self.defaultPath }

    /// The same where the default is below another folder than `/`.
    func path(below root: String) -> String {
        guard written == nil, !root.isEmpty else { return path }
        return (try? RootFolder(root).place(of: Self.defaultPath)) ?? root + "/no configuration file"
    }

    /// Leaves with status 78 when a file that was named is not there: a typo must never mean the default server.
    func validate() throws {
        guard let written, unsafe access(written, F_OK) != 0 else { return }
        // Out of here it would be reported as wrong usage.
        throw CommandFailure(
            "\(written): cannot be read: \(SystemError.last("read \(written)").reason)", exitCode: .configuration
        ).printed()
    }

    /// The variables of this process, and those of the file that is named.
    var ownVariables: Variables { Variables(process: processEnvironment(), file: environmentFile) }

    /// The same, and where no file is named, what the packaged service has.
    var variables: Variables { ownVariables.asOfService().variables }

    /// The configuration as the service has it, for a command at a terminal. Prints what else it was taken from.
    func sourceOfService() -> ConfigurationSource {
        let (variables, taken) = ownVariables.asOfService()
        for place in taken { printError("with \(place), as the service") }
        return ConfigurationSource(path: path, variables: variables, listen: [])
    }

    /// Reads some tables of the file alone.
    ///
    /// - Parameter root: the folder below which the default file is.
    func tables(_ tables: Set<String>, below root: String = "") throws(ConfigurationError) -> Configuration {
        try Configuration.loadTables(tables, path: path(below: root), variables)
    }

    /// Reads the file.
    func load() throws(ConfigurationError) -> LoadedConfiguration { try sourceOfService().load(isStart: true) }
}
