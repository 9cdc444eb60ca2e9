package import Logging

/// A message that may come often.
package struct LogMessage: Sendable {
    package let kind: LogKind
    /// What it is about, such as an address: each subject of a kind has its own turn to be logged.
    package let subject: String
    /// One line for people; whatever the network has put into it is made harmless as it is written.
    package let text: String
    /// The same for programs.
    package let fields: Logger.Metadata

    package init(_ kind: LogKind, about subject: String, _ text: String, _ fields: Logger.Metadata = [:]) {
        self.kind = kind
        self.subject = subject
        self.text = text
        self.fields = fields
    }
}
