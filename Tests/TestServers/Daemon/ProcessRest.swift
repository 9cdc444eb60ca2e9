import Foundation

/// What could wake a process although nothing arrives for it, as the kernel shows it in `/proc`. Of a process that cannot
/// be dumped only root sees that.
package enum ProcessRest {
    /// The time until its next timer (timerfd) is due; nil: none is set, or only for some day in another century.
    package static func nextTimer(of pid: Int32) throws -> Duration? {
        let folder = "/proc/\(pid)/fdinfo"
        var next: Duration?
        for descriptor in try FileManager.default.contentsOfDirectory(atPath: folder) {
            // It may have been closed meanwhile.
            let text = (try? String(contentsOfFile: "\(folder)/\(descriptor)", encoding: .utf8)) ?? ""
            guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("it_value:") }) else { continue }
            let numbers = line.split { !$0.isNumber }.compactMap { Int64($0) }
            guard numbers.count == 2, numbers != [0, 0], numbers[0] < 3_000_000_000 else { continue }
            let due = Duration.seconds(numbers[0]) + .nanoseconds(numbers[1])
            next = min(next ?? due, due)
        }
        return next
    }

    /// Whether each of its threads waits for an event, without a time limit.
    package static func waitsForEvents(_ pid: Int32) throws -> Bool {
        let folder = "/proc/\(pid)/task"
        return try FileManager.default.contentsOfDirectory(atPath: folder).allSatisfy { thread in
            guard let text = try? String(contentsOfFile: "\(folder)/\(thread)/syscall", encoding: .utf8) else {
                return false
            }
            let fields = text.split { $0 == " " || $0 == "\n" }
            guard let number = fields.first.flatMap({ Int($0) }), let wait = waits[number],
                fields.indices.contains(wait.limit + 1)
            else { return false }
            return fields[wait.limit + 1] == wait.never
        }
    }

    /// The system calls that wait, by their numbers: which argument is the time limit, and its value for none.
    private static let waits: [Int: (limit: Int, never: String)] = {
        #if arch(x86_64)
            // poll, futex, epoll_wait, ppoll, epoll_pwait, recvmmsg
            [
                7: (2, "0xffffffff"), 202: (3, "0x0"), 232: (3, "0xffffffff"), 271: (2, "0x0"),
                281: (3, "0xffffffff"), 299: (4, "0x0"),
            ]
        #else
            // epoll_pwait, ppoll, futex, recvmmsg
            [22: (3, "0xffffffff"), 73: (2, "0x0"), 98: (3, "0x0"), 243: (4, "0x0")]
        #endif
    }()
}
