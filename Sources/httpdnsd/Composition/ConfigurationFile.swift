import ArgumentParser
import Configuration
import Glibc
import Platform

/// The `--config` option of every command.
struct ConfigurationFile: ParsableArguments {
    static let defaultPath = "/etc/httpdnsd/httpdnsd.toml"

    @Option(
        name: .customLong("config"),
        help: .init("The configuration file. (default: \(ConfigurationFile.defaultPath))", valueName: "file"),
        completion: .file(extensions: ["toml"]))
    private var written: String?

    var path: String { written ?? Self.defaultPath }

    /// Leaves with status 78 when a file that was named is not there: a typo must never mean the default server.
    func validate() throws {
        guard let written, access(written, F_OK) != 0 else { return }
        printError("\(written): cannot be read: \(SystemError.last("read \(written)").reason)")
        throw ExitStatus.configuration.exitCode
    }

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
