package import Scheduling

/// The numbers that stand for answering servers in cache entries: addresses of services and of LocalDNS.
///
/// Allocated once, for the life of the process; at most 65,535, which no configuration comes near.
@Loop
package final class ServerNames {
    private var numbers: [String: UInt16] = [:]
    /// By number; the first stands for all unknown servers.
    private var names = [""]
    /// The last result: mostly the next name is the same.
    private var last: (name: String, number: UInt16) = ("", 0)

    package nonisolated init() {}

    /// The number of a server, a new one the first time; 0 for no name, and once there are too many.
    package func number(of name: String) -> UInt16 {
        if name == last.name { return last.number }
        let number = numbers[name] ?? add(name)
        last = (name, number)
        return number
    }

    private func add(_ name: String) -> UInt16 {
        guard let number = UInt16(exactly: names.count) else { return 0 }
        numbers[name] = number
        names.append(name)
        return number
    }

    /// The server that has this number; empty when it is not known.
    package func name(of number: UInt16) -> String {
        names.indices.contains(Int(number)) ? names[Int(number)] : ""
    }
}
