package import Scheduling

/// Whatever can be asked and takes care of its own retries: LocalDNS, or the servers of a `forward` entry.
@Loop
package protocol Upstream: AnyObject, Sendable {
    /// What logs and extended errors call it.
    nonisolated var name: String { get }

    /// Asks, and returns by the question's deadline whatever happens; sooner when the task is cancelled.
    func ask(_ question: UpstreamQuestion) async -> UpstreamReply
}
