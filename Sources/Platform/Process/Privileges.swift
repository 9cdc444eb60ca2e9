public import Glibc

/// The user under which the process runs, and dropping root.
public enum Privileges {
    /// Becomes `user` irrevocably: its groups, its group, its ID; then checks that root cannot be regained.
    ///
    /// Called once all sockets are bound. It applies to every thread of the process.
    /// - Throws: `ENOENT` for an unknown user, `EPERM` unless the process is root or runs as this user.
    public static func drop(to user: String) throws(SystemError) {
        try checkDrop(to: user)
        let account = try account(named: user)
        if !isAccount(account) { try become(account, user) }
        let isDropped = isAccount(account) && (account.user == 0 || setuid(0) != 0)
        guard isDropped else { throw SystemError(code: EPERM, operation: "give up root for user \(user)") }
    }

    private static func become(
        _ account: (user: uid_t, group: gid_t), _ user: String
    ) throws(SystemError) {
        guard unsafe initgroups(user, account.group) == 0 else {
            throw .last("take the groups of user \(user)")
        }
        guard setgid(account.group) == 0 else { throw .last("become group \(account.group) of user \(user)") }
        guard setuid(account.user) == 0 else { throw .last("become user \(user)") }
    }

    /// Whether the process runs as this account.
    private static func isAccount(_ account: (user: uid_t, group: gid_t)) -> Bool {
        getuid() == account.user && geteuid() == account.user && getgid() == account.group
            && getegid() == account.group
    }

    /// Finds out whether `drop` has leave to succeed, before anything depends on it.
    ///
    /// - Throws: `ENOENT` for an unknown user, `EPERM` for a process that may not become it.
    public static func checkDrop(to user: String) throws(SystemError) {
        guard try !isAccount(account(named: user)), !mayChange else { return }
        throw SystemError(
            code: EPERM, operation: "take the groups of user \(user)",
            advice: "only root can become another user; start as root or leave `user` empty")
    }

    /// Whether this process may change its user and its groups: CAP_SETGID and CAP_SETUID are in effect, as for root
    /// unless they were taken away (proc(5)).
    private static var mayChange: Bool {
        let status = (try? readFile("/proc/self/status", limit: 1 << 16)) ?? []
        let line = String(decoding: status, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("CapEff:") }
        guard let text = line?.split(whereSeparator: \.isWhitespace).last, let sets = UInt64(text, radix: 16) else {
            return geteuid() == 0
        }
        return sets & 0xc0 == 0xc0
    }

    /// Which of these files a user could not read, or not reach: for each the place that is in the way, its own path or a
    /// directory's, and the error. As root only, since nothing else can become that user; empty otherwise.
    ///
    /// The process is that user meanwhile, with all its threads: for programs that do nothing else at that time.
    public static func unreadable(
        _ paths: [String], by user: String
    ) throws(SystemError) -> [(path: String, place: String, error: SystemError)] {
        try acting(as: user) {
            paths.compactMap { path in
                let number = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
                guard number < 0 else {
                    close(number)
                    return nil
                }
                let error = SystemError.last("open \(path)")
                return (path, place(inTheWayTo: path), error)
            }
        } ?? []
    }

    /// The first file that exists and that a user could not read, or could not write in its folder; nil: there is none.
    ///
    /// As `unreadable`. What is not there yet counts for nothing, be it the file or its folder.
    public static func reasonAgainst(
        reading: [String], writing: [String], as user: String
    ) throws(SystemError) -> (place: String, error: SystemError)? {
        if let first = try unreadable(reading, by: user).first(where: { $0.error.code != ENOENT }) {
            return (first.place, first.error)
        }
        let places = writing.flatMap { path in
            [(path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "", W_OK | X_OK), (path, R_OK | W_OK)]
        }
        return try acting(as: user) {
            for (path, access) in places where !path.isEmpty {
                if unsafe faccessat(AT_FDCWD, path, access, AT_EACCESS) != 0, errno != ENOENT {
                    return (path, .last("write \(path)"))
                }
            }
            return nil
        } ?? nil
    }

    /// What `body` returns when the process is that user; nil: it is not root, and cannot become it, or the user is root.
    private static func acting<Value>(as user: String, _ body: () -> Value) throws(SystemError) -> Value? {
        guard geteuid() == 0 else { return nil }
        let account = try account(named: user)
        guard account.user != 0 else { return nil }
        let count = getgroups(0, nil)
        guard count >= 0 else { throw .last("read the groups of this process") }
        var groups = [gid_t](repeating: 0, count: Int(count))
        guard unsafe getgroups(count, &groups) == count else { throw .last("read the groups of this process") }
        let group = getegid()
        defer {
            _ = seteuid(0)
            _ = setegid(group)
            _ = unsafe setgroups(groups.count, groups)
        }
        guard unsafe initgroups(user, account.group) == 0, setegid(account.group) == 0, seteuid(account.user) == 0
        else {
            throw .last("become user \(user)")
        }
        return body()
    }

    /// The first directory on the way to a file that this process may not pass, or the file.
    private static func place(inTheWayTo path: String) -> String {
        var folder = ""
        for part in path.split(separator: "/").dropLast() {
            folder += "/" + part
            if unsafe faccessat(AT_FDCWD, folder, X_OK, AT_EACCESS) != 0 { return folder }
        }
        return path
    }

    /// The numbers of a user and of its group.
    ///
    /// - Throws: `ENOENT` for an unknown one, or the system's error.
    public static func account(named name: String) throws(SystemError) -> (user: uid_t, group: gid_t) {
        let operation = "look up user \(name)"
        var buffer = [CChar](repeating: 0, count: 16 << 10)
        var entry = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        let code = unsafe getpwnam_r(name, &entry, &buffer, buffer.count, &found)
        guard code == 0 else { throw SystemError(code: code, operation: operation) }
        guard unsafe found != nil else {
            throw SystemError(code: ENOENT, operation: operation, advice: "there is no such user on this machine")
        }
        return unsafe (entry.pw_uid, entry.pw_gid)
    }

    /// The number of a group.
    ///
    /// - Throws: `ENOENT` for an unknown one, or the system's error.
    public static func group(named name: String) throws(SystemError) -> gid_t {
        let operation = "look up group \(name)"
        // A group of some thousand members does not fit at first.
        var size = 16 << 10
        while true {
            var buffer = [CChar](repeating: 0, count: size)
            var entry = unsafe Glibc.group()
            var found: UnsafeMutablePointer<Glibc.group>?
            let code = unsafe getgrnam_r(name, &entry, &buffer, buffer.count, &found)
            if code == ERANGE, size < 16 << 20 {
                size *= 4
                continue
            }
            guard code == 0 else { throw SystemError(code: code, operation: operation) }
            guard unsafe found != nil else {
                throw SystemError(code: ENOENT, operation: operation, advice: "there is no such group on this machine")
            }
            return unsafe entry.gr_gid
        }
    }
}
