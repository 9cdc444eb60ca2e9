/// Something that is wrong on this machine or in its network, and what mends it.
struct Finding: Equatable, Sendable {
    enum Severity: String {
        /// Names are not answered, or not by this server; or a hanging machine keeps that from being known.
        case error
        /// Names are answered; a protection or a reserve is missing.
        case warning
    }

    /// A word for scripts that does not change, such as `port.held`.
    let key: String
    let severity: Severity
    /// What is wrong, with the evidence: one line.
    let sentence: String
    /// The command or setting that mends it: one line.
    let remedy: String

    init(_ key: String, _ severity: Severity, _ sentence: String, mend remedy: String) {
        (self.key, self.severity, self.sentence, self.remedy) = (key, severity, sentence, remedy)
    }
}
