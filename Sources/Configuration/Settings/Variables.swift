/// Where `${VARIABLE}` in a configuration has its value from: the environment of the process, and a file.
package struct Variables: Sendable {
    /// What the packaged unit of systemd reads at the start (`EnvironmentFile=`).
    package static let packagedFile = "/etc/httpdnsd/environment"
    /// Where systemd puts the credentials of that unit (`LoadCredential=`).
    package static let packagedCredentials = "/run/credentials/httpdnsd.service"
    private static let credentials = "CREDENTIALS_DIRECTORY"

    /// The environment of the process at its start.
    package let process: [String: String]
    /// A file (`EnvironmentFile`) whose variables go before those of the process; nil: none.
    package let file: String?

    package init(process: [String: String], file: String? = nil) {
        self.process = process
        self.file = file
    }

    /// All variables. The file is read again each time: the environment of a process never changes.
    ///
    /// - Throws: that the file cannot be read.
    func read() throws(ConfigurationError) -> [String: String] {
        guard let file else { return process }
        do throws(FileProblem) {
            return process.merging(try EnvironmentFile(path: file).variables) { $1 }
        } catch {
            var diagnostic = Diagnostic(file: file, message: error.text)
            diagnostic.isDenied = error.isDenied
            throw ConfigurationError(diagnostics: [diagnostic])
        }
    }

    /// Where systemd puts the copy of a file that it has read for this process (`LoadCredential=` with the file's name).
    func credential(for path: String) -> String? {
        guard let folder = process[Self.credentials], let name = path.split(separator: "/").last else { return nil }
        return "\(folder)/\(name)"
    }

    /// The same with what the packaged service has and this process has not, if it may read that: for a command at a
    /// terminal, which shall see the configuration as the service does.
    ///
    /// - Parameters:
    ///   - file: its file of variables.
    ///   - credentials: its directory of credentials.
    /// - Returns: also the files and directories of which something was taken.
    package func asOfService(
        file: String = Variables.packagedFile, credentials: String = Variables.packagedCredentials
    ) -> (variables: Variables, taken: [String]) {
        guard self.file == nil else { return (self, []) }
        var (merged, taken) = (process, [String]())
        let found = (try? EnvironmentFile(path: file))?.variables.filter { process[$0.key] == nil } ?? [:]
        if !found.isEmpty {
            merged.merge(found) { $1 }
            taken.append(file)
        }
        if merged[Self.credentials] == nil, isReadableDirectory(credentials) {
            merged[Self.credentials] = credentials
            taken.append(credentials)
        }
        return (Variables(process: merged), taken)
    }
}
