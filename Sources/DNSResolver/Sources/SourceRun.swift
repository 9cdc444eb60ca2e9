package import Scheduling

/// What asks the sources of a name, for one type or two.
@Loop
package protocol SourceRun: Cancellable {
    /// Whether an address of LocalDNS is verified for a type that has no result yet.
    var isVerified: Bool { get }
}

extension SpawnedWork: SourceRun {
    /// One source alone is asked, and what it answers is a result at once.
    package var isVerified: Bool { false }
}
