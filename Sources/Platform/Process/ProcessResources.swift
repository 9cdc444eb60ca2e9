import CSystem.Linux
import DNSWire
import Glibc

/// What this process uses, at the time of the initializer.
public struct ProcessResources: Sendable {
    /// Processor time of user and system, all threads.
    public let processorTime: Duration
    /// Bytes of resident memory; 0 where /proc is not mounted.
    public let residentBytes: Int
    /// Open descriptors; 0 where /proc is not mounted.
    public let descriptors: Int
    /// How many may be open.
    public let descriptorLimit: Int

    public init() {
        var used = timespec()
        _ = unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used)
        processorTime = .seconds(used.tv_sec) + .nanoseconds(used.tv_nsec)
        // The second word of /proc/self/statm is the number of resident pages (proc(5)).
        let words = ((try? readFile("/proc/self/statm", limit: 128)) ?? []).split(separator: UInt8(ascii: " "))
        let pages = words.dropFirst().first.flatMap { OutsideNumber(digits: $0)?.within(0...1 << 40) }
        residentBytes = (pages ?? 0) * sysconf(Int32(_SC_PAGESIZE))
        // One is the folder's own.
        descriptors = (RootFolder("").entries(of: "/proc/self/fd")?.count { !$0.name.hasPrefix(".") } ?? 1) - 1
        descriptorLimit = DescriptorLimit.current
    }
}

/// The environment variables with which the process was started.
///
/// From memory and not from `/proc/self/environ`: the kernel makes that file unreadable for a user other than root
/// whose program has file capabilities, and for a process that was root before.
public func processEnvironment() -> [String: String] {
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

/// The arguments of the command line, without the program's name.
///
/// Not those of `CommandLine`, which are none where `/proc` is missing, or where a preloaded library has set a variable.
public func processArguments() -> [String] {
    var arguments: [String] = []
    while let argument = unsafe clinux_argument(Int32(clamping: arguments.count + 1)) {
        arguments.append(unsafe String(cString: argument))
    }
    return arguments
}

/// Opens `/dev/null` in place of standard input, output and error, where they are closed at the start.
///
/// Otherwise the next descriptors opened would get their numbers, and messages would be written to sockets. Called before
/// anything else is opened.
public func openStandardStreams() {
    for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) < 0 && errno == EBADF {
        // open(2) takes the lowest free number, which is this one.
        _ = unsafe open("/dev/null", O_RDWR)
    }
}

/// Has standard output and error wait for their readers, where another program has made them non-blocking: what is printed
/// while a pipe is full would be lost.
///
/// They are opened once more, so that they stay as they are for that program; only a socket cannot be.
public func unblockStandardStreams() {
    for number in [STDOUT_FILENO, STDERR_FILENO] {
        let flags = fcntl(number, F_GETFL)
        guard flags >= 0, flags & O_NONBLOCK != 0 else { continue }
        // Of a file it would write from the start on, and a file never blocks.
        var status = stat()
        guard unsafe fstat(number, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { continue }
        let own = unsafe open("/proc/self/fd/\(number)", flags & O_ACCMODE | O_NONBLOCK | O_NOCTTY)
        if own >= 0 {
            _ = dup2(own, number)
            _ = close(own)
        }
        _ = fcntl(number, F_SETFL, flags & ~O_NONBLOCK)
    }
}

/// Prevents core dumps, images of the process's memory, secrets included: to a file or to a program (core(5)). Makes the
/// memory readable by root only.
///
/// Called before secrets are read, and once more after changing the user, which may undo it.
public func forbidCoreDumps() {
    clinux_make_undumpable()
    // A second safeguard, which `/proc/PID/limits` shows.
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
}

/// This machine's name, as `hostname` prints it; empty when it has none.
public func hostName() -> String {
    // POSIX limits it to 255 bytes; Linux to 64.
    var buffer = [CChar](repeating: 0, count: 256)
    guard unsafe gethostname(&buffer, buffer.count - 1) == 0 else { return "" }
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self)
}
