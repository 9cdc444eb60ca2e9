import Foundation
import Glibc
package import Platform
import TestSupport

/// Holds descriptors for a service over its restarts, as systemd's fd store does.
package final class DescriptorStore: Sendable {
    /// Starts a program that it passes descriptors to: only the process itself knows its number.
    private static let wrapper = ["sh", "-c", "LISTEN_PID=$$ exec \"$@\"", "sh"]

    fileprivate struct State {
        var stored: [PassedDescriptor]
        /// How many barriers it has come to.
        var barriers = 0
        var isEnding = false
    }

    private let path: String
    private let size: Int
    private let directory: TemporaryDirectory
    private let monitor: Monitor<State>

    /// - Parameter size: how many it stores.
    package init(size: Int = 2_048) throws {
        directory = try TemporaryDirectory()
        path = directory.path + "/notify"
        self.size = size
        monitor = Monitor(State(stored: []))
        let (socket, monitor) = (try NotifySocket.forDescriptors(at: path), monitor)
        Thread.detachNewThread {
            while !monitor.read({ $0.isEnding }) {
                guard let notice = socket.receive(within: .milliseconds(50)) else { continue }
                monitor.withLock { $0.take(notice, size: size) }
            }
        }
    }

    deinit { monitor.withLock { $0.isEnding = true } }

    /// What the next process gets, once it has taken all that the last one sent.
    package var stored: [PassedDescriptor] {
        let passed = monitor.read { $0.barriers }
        try? ServiceManager(path: path)?.synchronize()
        // A service waits for a second, and goes on.
        _ = monitor.wait(.patience) { $0.barriers > passed }
        return monitor.read { $0.stored }
    }

    /// The names of what it stores, sorted.
    package var names: [String] { stored.map(\.name).sorted() }

    /// Starts a program with all that it stores, whose open descriptors this process shares only while it stores them.
    func start(_ prefix: [String], _ words: [String], _ environment: [String: String]) throws -> ChildProcess {
        let stored = stored
        let variables = [
            "NOTIFY_SOCKET": path, "FDSTORE": "\(size)", "LISTEN_FDS": "\(stored.count)",
            "LISTEN_FDNAMES": stored.map(\.name).joined(separator: ":"),
        ]
        return try ChildProcess(
            prefix + Self.wrapper + words, environment: environment.merging(variables) { $1 },
            descriptors: stored.compactMap(\.number))
    }
}

extension DescriptorStore.State {
    fileprivate mutating func take(_ notice: NoticeSocket.Notice, size: Int) {
        if notice.lines.contains("FDSTORE=1") {
            for descriptor in notice.descriptors where stored.count < size {
                if !stored.contains(where: { $0.isSame(as: descriptor) }) { stored.append(descriptor) }
            }
        } else if notice.lines.contains("FDSTOREREMOVE=1") {
            stored.removeAll { notice.lines.contains("FDNAME=\($0.name)") }
        } else if notice.lines.contains("BARRIER=1") {
            barriers += 1
        }
    }
}

extension PassedDescriptor {
    /// Whether both are of one open socket or file: no two have the same inode.
    fileprivate func isSame(as other: PassedDescriptor) -> Bool {
        var (mine, theirs) = (stat(), stat())
        guard let number, let otherNumber = other.number, fstat(number, &mine) == 0, fstat(otherNumber, &theirs) == 0
        else { return false }
        return mine.st_dev == theirs.st_dev && mine.st_ino == theirs.st_ino
    }
}
