import Glibc
import Platform

/// The bytes of a whole text file.
///
/// - Parameters:
///   - limit: bytes; a longer file is refused.
///   - replacement: what stands for a file that is not there; nil: that is an error.
func wholeFile(_ path: String, limit: Int, ifMissing replacement: [UInt8]? = nil) throws(ValueProblem) -> [UInt8] {
    let content: [UInt8]
    do throws(SystemError) {
        content = try readText(path, limit: limit + 1)
    } catch {
        if error.code == ENOENT, let replacement { return replacement }
        guard error.code != ESPIPE else {
            throw ValueProblem("is a pipe, which cannot be read again at a reload: a file is needed")
        }
        let isDenied = error.code == EACCES
        throw ValueProblem(
            "cannot be read: \(error.reason)\(isDenied ? rights(of: path) : "")", isDenied: isDenied)
    }
    if let problem = ValueProblem(of: content, limit: limit) { throw problem }
    return content
}

/// The rights on a file that this process may not read: ` (mode 0600, of user 0, and this is user 65534)`; empty where a folder
/// above denies that too.
private func rights(of path: String) -> String {
    var state = stat()
    guard unsafe stat(path, &state) == 0 else { return " (a folder above it is closed to user \(geteuid()))" }
    let mode = String(state.st_mode & 0o7777, radix: 8)
    return " (mode 0\(mode), of user \(state.st_uid), and this is user \(geteuid()))"
}

/// Whether this process may list the directory `path`.
func isReadableDirectory(_ path: String) -> Bool {
    guard let directory = unsafe opendir(path) else { return false }
    unsafe closedir(directory)
    return true
}

extension ValueProblem {
    /// Of a file with more bytes than `limit`; nil for any other.
    init?(of file: [UInt8], limit: Int) {
        guard file.count > limit else { return nil }
        self.init("is larger than \(SizeText.write(limit))")
    }
}
