import Glibc

/// Why a file could not be read, as the end of a sentence: `cannot be read: No such file or directory`.
struct FileProblem: Error {
    let text: String
}

/// The bytes of a file.
///
/// - Parameter limit: bytes; a longer file is refused without reading on, so that `/dev/zero` does no harm.
func readFile(_ path: String, limit: Int) throws(FileProblem) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileProblem(text: "cannot be read: \(String(cString: strerror(errno)))") }
    defer { close(descriptor) }
    var content: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = chunk.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { throw FileProblem(text: "cannot be read: \(String(cString: strerror(errno)))") }
        if count == 0 { return content }
        content += chunk[..<count]
        guard content.count <= limit else { throw FileProblem(text: "is larger than \(SizeText.write(limit))") }
    }
}

/// The variables with which the process was started. Empty when `/proc` cannot be read.
package func processEnvironment() -> [String: String] {
    // The kernel limits all arguments and variables together to a quarter of the stack limit: 8 MiB is ample.
    guard let bytes = try? readFile("/proc/self/environ", limit: 8 << 20) else { return [:] }
    var variables: [String: String] = [:]
    for entry in bytes.split(separator: 0) {
        guard let mark = entry.firstIndex(of: UInt8(ascii: "=")) else { continue }
        let name = String(decoding: entry[..<mark], as: UTF8.self)
        variables[name] = String(decoding: entry[(mark + 1)...], as: UTF8.self)
    }
    return variables
}
