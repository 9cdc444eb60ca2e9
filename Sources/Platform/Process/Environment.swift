import CLinux

/// The environment variables with which the process was started.
///
/// From memory and not from `/proc/self/environ`: the kernel makes that file unreadable for a user other than root
/// whose program has file capabilities, and for a process that was root before.
package func processEnvironment() -> [String: String] {
    var variables: [String: String] = [:]
    var index: Int32 = 0
    while let entry = unsafe clinux_environment(index) {
        index += 1
        let text = unsafe String(cString: entry)
        guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
        variables[String(text[..<mark])] = String(text[text.utf8.index(after: mark)...])
    }
    return variables
}
