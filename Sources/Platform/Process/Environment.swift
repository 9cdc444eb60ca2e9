import CLinux

/// The variables with which the process was started.
///
/// From memory and not from `/proc/self/environ`: the kernel keeps that file from a user other than root whose program
/// got a capability of its file, and from one who was root before.
package func processEnvironment() -> [String: String] {
    var variables: [String: String] = [:]
    var index: Int32 = 0
    while let entry = clinux_environment(index) {
        index += 1
        let text = String(cString: entry)
        guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
        variables[String(text[..<mark])] = String(text[text.utf8.index(after: mark)...])
    }
    return variables
}
