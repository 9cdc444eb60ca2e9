import Configuration
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
