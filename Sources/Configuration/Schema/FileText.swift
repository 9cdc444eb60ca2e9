import Glibc
import Platform

/// Why a file could not be read, as the end of a sentence: `cannot be read: No such file or directory`.
package struct FileProblem: Error {
    package let text: String
}

/// The bytes of a whole text file.
///
/// - Parameters:
///   - limit: bytes; a longer file is refused.
///   - replacement: what stands for a file that is not there; nil: that is an error.
func wholeFile(
    _ path: String, limit: Int, ifMissing replacement: [UInt8]? = nil
) throws(FileProblem) -> [UInt8] {
    let content: [UInt8]
    do throws(SystemError) {
        content = try readText(path, limit: limit + 1)
    } catch {
        if error.code == ENOENT, let replacement { return replacement }
        throw FileProblem(text: "cannot be read: \(error.reason)")
    }
    guard content.count <= limit else { throw FileProblem(text: "is larger than \(SizeText.write(limit))") }
    return content
}

/// Whether this process may list the directory `path`.
func isReadableDirectory(_ path: String) -> Bool {
    guard let directory = unsafe opendir(path) else { return false }
    unsafe closedir(directory)
    return true
}
