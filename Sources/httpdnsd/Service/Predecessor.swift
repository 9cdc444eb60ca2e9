import Admin
import DNSServer
import Logs
import Platform
import Scheduling
import Synchronization

/// The server that runs already, and is replaced by this process.
struct Predecessor {
    /// How long it may take to pass on what it has.
    private static let patience: Duration = .seconds(5)
    /// How often the outcome of the request is looked at.
    private static let interval: Duration = .milliseconds(20)

    /// The path of its control socket.
    let control: String
    let log: LogOutput

    /// The path of the socket by which a server passes on what it has. It listens there from its start on: later it can
    /// make no such socket.
    static func socket(beside control: String) -> String { control + ".replace" }

    /// Has it pass on its sockets and its unfinished work; it ends then. Blocks the calling thread meanwhile.
    ///
    /// - Returns: nothing when no server runs there; the log has the reason then.
    func takeOver() -> [PassedDescriptor] {
        var passed: [PassedDescriptor] = []
        do throws(SystemError) {
            let socket = NoticeSocket(
                try .connected(toUnixSocket: Self.socket(beside: control), keepsMessages: true))
            let request = HandoverRequest()
            // Its response may come after the descriptors, or not at all, for then the server ends.
            _ = try NamedThread("replace") { [control] in request.send(to: control, within: Self.patience) }
            let deadline = Instant.bootTime + Self.patience
            while Instant.bootTime < deadline {
                let hasEnded = socket.hasEnded
                if let notice = socket.receive(within: Self.interval) {
                    passed += notice.descriptors
                    // The last that it passes.
                    if passed.last?.name == PassedKind.queries.rawValue { return passed }
                } else if let failure = request.failure ?? (hasEnded ? "it has ended" : nil) {
                    log.logger.log(.startNotReplaced, "no server was replaced: \(failure)")
                    return passed
                }
            }
            log.logger.log(.startNotReplaced, "the server at \(control) does not pass on what it has")
        } catch {
            log.logger.log(.startNotReplaced, "no server was replaced: \(error)")
        }
        return passed
    }
}

/// The request that makes a server pass on what it has.
private final class HandoverRequest: Sendable {
    private let state: Mutex<String?> = Mutex(nil)

    /// Why it failed; nil while it has not.
    var failure: String? { state.withLock { $0 } }

    func send(to control: String, within limit: Duration) {
        do throws(ControlError) {
            let client = ControlClient(socket: control, timeout: limit)
            _ = try client.post("/v1/handover", as: HandoverReport.self)
        } catch {
            state.withLock { $0 = error.text }
        }
    }
}

/// The Unix sockets of a server: for commands, and for the process that replaces it.
struct ControlSockets: Sendable {
    let commands: UnixListener
    /// Nil where none could be made.
    let successor: UnixListener?

    /// Where a process waits that has asked for all that this one has; nil when there is none.
    func acceptSuccessor() -> ServiceManager? { successor?.acceptLast() }

    /// Removes their files, so that another process can make its own there. A second call does nothing.
    func removeFiles() {
        commands.removeFile()
        successor?.removeFile()
    }
}
