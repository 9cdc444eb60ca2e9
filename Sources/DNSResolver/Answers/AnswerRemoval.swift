package import DNSWire

/// The answers that a user's command removes.
package enum AnswerRemoval: Sendable, Hashable {
    case all
    /// This name only.
    case name(Name)
    /// The name and all below it.
    case suffix(Name)
}
