import ArgumentParser
import Configuration
import Glibc
import HTTPDNS
import Platform

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
        printError("\(written): cannot be read: \(SystemError.last("read \(written)").reason)")
        throw ExitStatus.configuration.exitCode
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

    /// Reads the file; prints every error of it and leaves with status 78 if it has any.
    func load() throws -> LoadedConfiguration { try load(from: sourceOfService()) }

    /// The same for a server that starts, and may read it again.
    func load(from source: ConfigurationSource) throws -> LoadedConfiguration {
        do throws(ConfigurationError) {
            return try source.load(isStart: true)
        } catch {
            for diagnostic in error.diagnostics { printError("\(diagnostic)") }
            throw ExitStatus.configuration.exitCode
        }
    }
}
