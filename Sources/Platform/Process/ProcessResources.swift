import CLinux
import DNSWire
import Glibc

/// What this process uses, at the time of the initializer.
package struct ProcessResources: Sendable {
    /// Processor time of user and system, all threads.
    package let processorTime: Duration
    /// Bytes of resident memory; 0 where /proc is not mounted.
    package let residentBytes: Int
    /// Open descriptors; 0 where /proc is not mounted.
    package let descriptors: Int
    /// How many may be open.
    package let descriptorLimit: Int

    package init() {
        var used = timespec()
        _ = unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used)
        processorTime = .seconds(used.tv_sec) + .nanoseconds(used.tv_nsec)
        // The second word of /proc/self/statm is the number of resident pages (proc(5)).
        let words = ((try? readFile("/proc/self/statm", limit: 128)) ?? []).split(separator: UInt8(ascii: " "))
        let pages = words.dropFirst().first.flatMap { OutsideNumber(digits: $0)?.within(0...1 << 40) }
        residentBytes = (pages ?? 0) * sysconf(Int32(_SC_PAGESIZE))
        descriptors = Self.openDescriptors()
        descriptorLimit = DescriptorLimit.current
    }

    private static func openDescriptors() -> Int {
        guard let folder = unsafe opendir("/proc/self/fd") else { return 0 }
        defer { unsafe closedir(folder) }
        var count = 0
        while let entry = unsafe readdir(folder) {
            if unsafe entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { count += 1 }
        }
        // One is the folder's own.
        return count - 1
    }
}
