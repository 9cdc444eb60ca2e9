import ArgumentParser
import Configuration
import Platform

/// The `--config` option of every command.
struct ConfigurationFile: ParsableArguments {
    static let defaultPath = "/etc/httpdnsd/httpdnsd.toml"

    @Option(name: .customLong("config"), help: .init("The configuration file.", valueName: "file"))
    var path = ConfigurationFile.defaultPath

    /// Reads the file; prints every error of it and leaves with status 78 if it has any.
    func load() throws -> LoadedConfiguration {
        try load(from: ConfigurationSource(path: path, environment: processEnvironment(), listen: []))
    }

    /// The same for a server that may read it again.
    func load(from source: ConfigurationSource) throws -> LoadedConfiguration {
        do throws(ConfigurationError) {
            return try source.load()
        } catch {
            for diagnostic in error.diagnostics { printError("\(diagnostic)") }
            throw ExitStatus.configuration.exitCode
        }
    }
}
