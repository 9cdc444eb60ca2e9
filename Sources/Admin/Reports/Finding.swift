package import HTTPDNS

/// Something that is wrong on this machine or in its network, and what mends it: for `doctor` and for the page.
package struct Finding: Equatable, Sendable {
    package enum Severity: String {
        /// Names are not answered, or not by this server; or a hanging machine keeps that from being known.
        case error
        /// Names are answered; a protection or a reserve is missing.
        case warning
    }

    /// A word for scripts that does not change, such as `port.held`.
    package let key: String
    package let severity: Severity
    /// What is wrong, with the evidence: one line.
    package let sentence: String
    /// The command or setting that mends it: one line.
    package let remedy: String

    package init(_ key: String, _ severity: Severity, _ sentence: String, mend remedy: String) {
        (self.key, self.severity, self.sentence, self.remedy) = (key, severity, sentence, remedy)
    }

    package func write(to writer: inout JSONWriter) {
        writer.member("key", key)
        writer.member("severity", severity.rawValue)
        writer.member("sentence", sentence)
        writer.member("remedy", remedy)
    }
}

extension [Finding] {
    /// One that is an error.
    package static func error(_ key: String, _ sentence: String, mend remedy: String) -> [Finding] {
        [Finding(key, .error, sentence, mend: remedy)]
    }

    /// One that is a warning.
    package static func warning(_ key: String, _ sentence: String, mend remedy: String) -> [Finding] {
        [Finding(key, .warning, sentence, mend: remedy)]
    }
}

/// The reason why a request failed.
package struct FaultReport: JSONRecord {
    package var error = ""

    package init() {}

    package init(error: String) { self.error = error }

    package static let members: [JSONMember<Self>] = [.init("error", \.error)]
}
