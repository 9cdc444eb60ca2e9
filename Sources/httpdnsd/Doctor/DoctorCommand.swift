import Admin
import ArgumentParser
import Configuration
import HTTPDNS
import Platform

/// `httpdnsd doctor`: what is wrong on this machine, and what mends it.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Finds what is wrong on this machine, and says what mends it.",
        discussion: """
            Looks at the configuration, the port and the program that holds it, the files by which programs find this \
            server, what the running server says of its sources and of the network, the shared cache, and the machine's \
            limits, and asks each provider for one name, which is one call there (not with --offline). Only reads, but \
            for one value in the shared cache that it removes again, and ends within 9 seconds. As root it sees more. \
            Exit status: 0 when all is well, 1 when something is found, be it a warning, 78 when the configuration has a \
            mistake.
            """)

    /// How long reading the configuration may take.
    private static let patience = Duration.seconds(2)

    @OptionGroup var file: ConfigurationFile

    @Flag(help: "Do not ask the providers.")
    var offline = false

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        let (diagnosis, status) = try examine()
        show(VisibleText(lines: json ? diagnosis.json : diagnosis.text))
        if let status { throw status.exitCode }
    }

    /// - Returns: what is found, and the status to leave with; nil: 0.
    private func examine() throws(SystemError) -> (Diagnosis, ExitStatus?) {
        let reading = try BoundedWork { [file] in
            Result { () throws(ConfigurationRefusal) in try file.sourceOfService().check() }
        }
        switch reading.value(by: .now + Self.patience) {
        case .success(let loaded):
            var examination = Examination(loaded, file: file.path)
            try examination.ask(offline: offline)
            let diagnosis = try Diagnosis(examination)
            return (diagnosis, diagnosis.isWell ? nil : .no)
        case .failure(let refusal): return (Diagnosis(refused: refusal.lines, file: file.path), .configuration)
        case nil:
            return (Diagnosis(refused: ["\(file.path): cannot be read in time"], file: file.path), .configuration)
        }
    }
}

extension Diagnosis {
    /// That of a configuration that is not taken, without which no other check can be made.
    fileprivate init(refused lines: [String], file: String) {
        self.init([
            (
                Check.configuration,
                lines.map {
                    Finding(
                        "config.refused", .error, $0,
                        mend: "correct the line; \(Examination.command("check", of: file)) shows all")
                }
            )
        ])
    }
}
