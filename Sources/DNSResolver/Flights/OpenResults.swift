import DNSWire
import Scheduling

/// The results of a flight that are decided only when all its types are known.
@Loop
final class OpenResults {
    /// An answer for one type, with its source and server.
    struct Sourced {
        let type: RecordType
        let answer: Answer
        let source: Source
        let server: String
    }

    /// A family that a provider calls empty, and what is the result unless that holds.
    struct Emptied {
        let type: RecordType
        let result: UpstreamResult
        let source: Source
        let server: String
        let empty: EmptyFamily
    }

    /// Denials, which depend on the name's other family.
    var doubtful: [Sourced] = []
    /// They depend on it too.
    var emptied: [Emptied] = []
    /// Service bindings, whose hints depend on other names.
    var bindings: [Sourced] = []
    var failed: [(type: RecordType, failure: UpstreamFailure)] = []
    /// "No IPv6 address", in whose place addresses may be made of the name's IPv4 addresses.
    var untranslated: [Sourced] = []
    /// What the providers found of types that depend on LocalDNS too.
    var findings: [(type: RecordType, finding: ProviderFinding)] = []

    var isEmpty: Bool {
        doubtful.isEmpty && emptied.isEmpty && bindings.isEmpty && failed.isEmpty && untranslated.isEmpty
    }
}
