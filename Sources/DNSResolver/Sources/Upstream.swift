package import Scheduling

/// An upstream that does its own retries: LocalDNS, or the servers of a `forward` entry.
@Loop
package protocol Upstream: AnyObject, Sendable {
    /// Its name in logs and extended errors.
    nonisolated var name: String { get }

    /// Asks, and returns by the question's deadline in any case; sooner when the task is cancelled.
    func ask(_ question: UpstreamQuestion) async -> UpstreamReply
}
