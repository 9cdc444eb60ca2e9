import Glibc
import Platform

/// The files of a machine, below a folder that stands for `/`, and that no link leads out of. All paths are absolute.
struct MachineFiles {
    /// Empty for this machine's own; otherwise the path of a folder, without a slash at its end.
    let root: String

    /// The most bytes that are read of a file; the rest is ignored. Real ones have some hundreds.
    private static let maximumSize = 64 << 10

    /// Whether this is the machine that runs, and not an image of one.
    var areThisMachines: Bool { root.isEmpty }

    private var folder: RootFolder { RootFolder(root) }

    /// Whether something has that name, be it a link that leads nowhere.
    func exists(_ path: String) -> Bool {
        guard let folder = try? folder.openFolder(of: path) else { return false }
        var status = stat()
        return unsafe fstatat(folder.number, Self.name(of: path), &status, AT_SYMLINK_NOFOLLOW) == 0
    }

    /// The permission bits of a file, through links; nil when there is none.
    func mode(of path: String) -> mode_t? {
        var status = stat()
        guard let file = try? folder.open(path, O_RDONLY | O_NONBLOCK), unsafe fstat(file.number, &status) == 0 else {
            return nil
        }
        return status.st_mode & 0o7777
    }

    /// Where a symbolic link leads; nil for everything else.
    func target(of path: String) -> String? {
        guard let folder = try? folder.openFolder(of: path),
            let text = linkTarget(Self.name(of: path), from: folder.number)
        else { return nil }
        return text.hasPrefix("/") ? text : Self.normal(Self.folder(of: path) + "/" + text)
    }

    /// The text of a file, through links; nil when there is none.
    func text(of path: String) -> String? {
        guard let file = try? folder.open(path, O_RDONLY | O_NONBLOCK),
            let bytes = try? readFile(file, named: root + path, limit: Self.maximumSize)
        else { return nil }
        return String(decoding: withoutMark(bytes), as: UTF8.self)
    }

    /// The lines of a file that are not empty, whichever way they end; none when there is no file.
    func lines(of path: String) -> [Substring] { (text(of: path) ?? "").split(whereSeparator: \.isNewline) }

    /// The names in a folder that end so, sorted; none when there is no folder.
    func names(in folder: String, ending suffix: String) -> [String] {
        (self.folder.entries(of: folder) ?? []).map(\.name).filter { $0.hasSuffix(suffix) }.sorted()
    }

    /// Puts a file in place at once, whatever was there: a reader sees the old one or the new one.
    func write(_ text: String, to path: String, mode: mode_t = 0o644) throws(SystemError) {
        let folder = try folder.openFolder(of: path)
        let (final, temporary) = (Self.name(of: path), Self.temporary(path))
        unsafe unlinkat(folder.number, temporary, 0)
        let number = unsafe openat(
            folder.number, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
        guard number >= 0 else { throw fault("write", path) }
        do throws(SystemError) {
            try writeThrough(Array(text.utf8), to: Descriptor(owning: number), root + path, mode: mode)
            guard unsafe renameat(folder.number, temporary, folder.number, final) == 0 else {
                throw fault("write", path)
            }
        } catch {
            unsafe unlinkat(folder.number, temporary, 0)
            throw error
        }
    }

    /// Gives what is at `path`, be it a link, a second name, in place of what had that name.
    func copyName(_ path: String, to other: String) throws(SystemError) {
        let from = try folder.openFolder(of: path)
        let to = try folder.openFolder(of: other)
        let temporary = Self.temporary(other)
        unsafe unlinkat(to.number, temporary, 0)
        guard unsafe linkat(from.number, Self.name(of: path), to.number, temporary, 0) == 0 else {
            throw fault("give a second name to", path)
        }
        // Of two names of one file rename(2) would leave both.
        unsafe unlinkat(to.number, Self.name(of: other), 0)
        guard unsafe renameat(to.number, temporary, to.number, Self.name(of: other)) == 0 else {
            let fault = fault("give a second name to", path)
            unsafe unlinkat(to.number, temporary, 0)
            throw fault
        }
    }

    /// Moves a file over another one.
    func move(_ path: String, to other: String) throws(SystemError) {
        let from = try folder.openFolder(of: path)
        let to = try folder.openFolder(of: other)
        guard unsafe renameat(from.number, Self.name(of: path), to.number, Self.name(of: other)) == 0 else {
            throw fault("move \(root + path) to", other)
        }
    }

    func remove(_ path: String) throws(SystemError) {
        let folder: Descriptor
        do throws(SystemError) {
            folder = try self.folder.openFolder(of: path)
        } catch {
            if error.code == ENOENT { return }
            throw error
        }
        guard unsafe unlinkat(folder.number, Self.name(of: path), 0) == 0 || errno == ENOENT else {
            throw fault("remove", path)
        }
    }

    /// Makes a folder, whose parent exists. Returns false when it was there.
    func makeFolder(_ path: String) throws(SystemError) -> Bool {
        let folder = try folder.openFolder(of: path)
        if unsafe mkdirat(folder.number, Self.name(of: path), 0o755) == 0 { return true }
        guard errno == EEXIST else { throw fault("make the folder", path) }
        return false
    }

    /// Removes a folder, if it is empty.
    func removeFolder(_ path: String) {
        guard let folder = try? folder.openFolder(of: path) else { return }
        unsafe unlinkat(folder.number, Self.name(of: path), AT_REMOVEDIR)
    }

    static func name(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
    }

    private static func temporary(_ path: String) -> String { name(of: path) + ".new-httpdnsd" }

    /// The folder of a file, without a slash at its end.
    static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
    }

    /// The same path without `.` and `..`.
    private static func normal(_ path: String) -> String {
        var parts: [Substring] = []
        for part in path.split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        return "/" + parts.joined(separator: "/")
    }

    /// The error of the C call that just returned.
    private func fault(_ operation: String, _ path: String) -> SystemError {
        let code = errno
        let advice: String? =
            switch code {
            case EACCES: "this needs root"
            case EPERM: geteuid() == 0 ? "it may be immutable: see lsattr" : "this needs root"
            case EBUSY, EXDEV: "it is a mount, as in a container: name the server where the container is made"
            default: nil
            }
        return SystemError(code: code, operation: "\(operation) \(root + path)", advice: advice)
    }
}
