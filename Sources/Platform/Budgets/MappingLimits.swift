import CSystem.Linux
import DNSWire

/// The limits on what this process maps, set by `ulimit -v` and `-d` or a unit's `LimitAS=` and `LimitDATA=`
/// (`RLIMIT_AS`, `RLIMIT_DATA`), read from the kernel's files.
///
/// At such a limit an allocation fails, which ends the process: so they count as a limit of memory does, less what is mapped
/// without being used.
package struct MappingLimits {
    /// Threads besides those that receive: log, disk and its check, a policy, a reload, and a certificate.
    private static let otherThreads = 6
    /// What glibc maps for the stack of a thread when the limit of stacks is "unlimited", in bytes.
    private static let usualStack = 8 << 20

    private let limits: String
    private let status: String

    /// - Parameter read: returns a file's text; `nil` if there is none.
    package init(readingWith read: (String) -> String?) {
        limits = read("/proc/self/limits") ?? ""
        status = read("/proc/self/status") ?? ""
    }

    /// Reads the files of this process.
    package init() {
        self.init { path in (try? readFile(path, limit: 64 << 10)).map { String(decoding: $0, as: UTF8.self) } }
    }

    /// The bytes of memory that the limits leave to the whole process, in the terms of `MemoryBudget`, before it has started its
    /// threads; at least what the program itself has. `nil`: there is no limit, or /proc is not mounted.
    ///
    /// - Parameter receivers: how many threads will receive.
    package func memory(receivers: Int) -> Int? {
        let stacks = (receivers + Self.otherThreads) * (limit("Max stack size") ?? Self.usualStack)
        let free = [("Max address space", "VmSize:"), ("Max data size", "VmData:")].compactMap { name, field in
            limit(name).map { $0 - (mapped(field) ?? 0) - stacks }
        }
        return free.min().map { MemoryBudget.base + max(0, $0) }
    }

    /// Has all threads take memory from one pool where there is a limit: each thread's own would reserve 64 MiB, used or not.
    /// For the start, before the first thread.
    package func shareMemory() {
        if memory(receivers: 0) != nil { clinux_share_memory() }
    }

    /// The soft limit in bytes, from a line such as "Max address space   314572800   unlimited   bytes"; nil when there is none.
    private func limit(_ name: String) -> Int? { number(in: limits, after: name)?.within(1...1 << 60) }

    /// Bytes from a line such as "VmSize:   492384 kB".
    private func mapped(_ field: String) -> Int? {
        number(in: status, after: field)?.within(0...1 << 50).map { $0 << 10 }
    }

    private func number(in text: String, after name: String) -> OutsideNumber? {
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else { return nil }
        return line.dropFirst(name.count).split(whereSeparator: \.isWhitespace).first
            .flatMap { OutsideNumber(digits: $0) }
    }
}

/// Returns memory freed by any thread to the system; glibc by itself retains most of it.
///
/// For use after a rare large operation: it walks all free memory, and blocks its thread meanwhile.
package func returnFreeMemory() { clinux_return_free_memory() }

/// Unmaps the pages of code and constants that were used so far. Pages still needed are mapped again as they are used.
///
/// For the end of the start-up, most of whose code is never needed again. The kernel retains the files in its page
/// cache; but it can drop unmapped pages at once when memory is short, and they do not count as memory of this process.
package func releaseFilePages() { clinux_release_file_pages() }
