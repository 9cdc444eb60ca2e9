package import Logging

/// A log message that may be frequent.
package struct LogMessage: Sendable {
    package let kind: LogKind
    /// The subject, such as an address: the rate of lines is limited for each subject of a kind.
    package let subject: String
    /// One line for people; control characters, which may come from the network, are escaped when it is written.
    package let text: String
    /// The same content for programs.
    package let fields: Logger.Metadata

    package init(_ kind: LogKind, about subject: String, _ text: String, _ fields: Logger.Metadata = [:]) {
        self.kind = kind
        self.subject = subject
        self.text = text
        self.fields = fields
    }
}
