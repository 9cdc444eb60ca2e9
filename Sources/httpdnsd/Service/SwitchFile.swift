import Configuration
import Glibc
import Platform

/// The switch of a server without a cache on disk: a file beside its control socket, which is there while HTTPDNS is off.
struct SwitchFile: Sendable {
    private let path: String

    /// Nil where the cache on disk has the switch, or nothing can switch.
    init?(_ settings: Configuration) {
        guard settings.cache.disk.path.isEmpty, !settings.control.socket.isEmpty else { return nil }
        path = settings.control.socket + ".off"
    }

    /// Whether HTTPDNS was off when the last process ended. What another user has left in the folder says nothing.
    var isOff: Bool {
        var state = stat()
        guard unsafe lstat(path, &state) == 0 else { return false }
        return state.st_mode & S_IFMT == S_IFREG && state.st_uid == geteuid()
    }

    /// Stores how the switch stands, on a thread of its own.
    ///
    /// - Returns: whether a restart finds it.
    func store(isOn: Bool) async -> Bool {
        do {
            return try await NamedThread.run("switch") { [self] in
                Result { () throws(SystemError) -> Bool in
                    if isOn { return unsafe unlink(path) == 0 || errno == ENOENT }
                    try replaceFile(path, [], mode: 0o600)
                    return true
                }
            }.get()
        } catch {
            return false
        }
    }
}
