import Glibc

/// This machine's name, as `hostname` prints it; empty when it has none.
package func hostName() -> String {
    // POSIX limits it to 255 bytes; Linux to 64.
    var buffer = [CChar](repeating: 0, count: 256)
    guard unsafe gethostname(&buffer, buffer.count - 1) == 0 else { return "" }
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self)
}
