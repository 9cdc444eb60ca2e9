import Dispatch
import Glibc
import Logging
import TestSupport
import Testing

@testable import Platform

struct LogWriterTests {
    // What a test waits for may be done on the loop.
    init() { _ = LoopRunner.shared }

    /// A writer to a pipe that only the test reads.
    private final class Fixture {
        let writer: LogWriter
        let reading: Int32
        private let writing: Int32

        init(capacity: Int) throws {
            // As in the daemon: a closed reader is an error of write, instead of ending the process.
            Signal.block()
            var pipes: [Int32] = [0, 0]
            try #require(pipe(&pipes) == 0)
            (reading, writing) = (pipes[0], pipes[1])
            writer = try LogWriter(to: pipes[1], capacity: capacity) { Array("\($0) dropped\n".utf8) }
        }

        /// Redirects the writer's descriptor to another file.
        ///
        /// - Returns: the former file.
        func redirect(to other: Int32) -> Int32 {
            let before = dup(writing)
            dup2(other, writing)
            return before
        }

        /// Undoes `redirect`.
        func restore(_ before: Int32) {
            dup2(before, writing)
            close(before)
        }

        /// Has the writer's thread wait until what is returned is signalled.
        func hold() -> DispatchSemaphore {
            let (begun, released) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            writer.perform {
                begun.signal()
                released.wait()
            }
            begun.wait()
            return released
        }

        /// Reads until as many lines have arrived or were reported as dropped.
        ///
        /// - Returns: the lines that arrived, and the number of those that did not.
        func read(until count: Int) -> (lines: [Substring], dropped: Int) {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4_096)
            while true {
                let all = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
                let notices = all.filter { $0.hasSuffix(" dropped") }
                let lines = all.filter { !$0.hasSuffix(" dropped") }
                let dropped = notices.reduce(0) { $0 + (Int($1.dropLast(" dropped".count)) ?? 0) }
                let isWhole = bytes.last == UInt8(ascii: "\n")
                if isWhole, lines.count + dropped >= count { return (lines, dropped) }
                let received = Glibc.read(reading, &buffer, buffer.count)
                guard received > 0 else { return (lines, dropped) }
                bytes += buffer[..<received]
            }
        }
    }

    @Test func `a logger's messages are written in the style of its output, from its level on`() throws {
        var pipes: [Int32] = [0, 0]
        try #require(pipe(&pipes) == 0)
        let output = try LogOutput(.text, level: .warning, journalStream: nil, to: pipes[1])
        output.logger.info("hidden")
        output.logger.warning("shown")
        output.set(.json, level: .info)
        output.logger.info("later")
        output.finish(within: .patience)
        close(pipes[1])
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = Glibc.read(pipes[0], &buffer, buffer.count)
        close(pipes[0])
        let lines = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 2 && lines[0].hasSuffix(" warning: shown"))
        #expect(lines.last?.hasPrefix("{\"time\":") == true)
    }

    @Test func `a flush of the output waits for what its thread still does`() throws {
        var pipes: [Int32] = [0, 0]
        try #require(pipe(&pipes) == 0)
        let output = try LogOutput(.text, level: .info, journalStream: nil, to: pipes[1])
        output.performOnThread { usleep(50_000) }
        output.logger.info("shown")
        output.flush(within: .patience)
        #expect(unread(in: pipes[0]) > 0)
        output.finish(within: .patience)
        for end in pipes { close(end) }
    }

    @Test func `after its end a writer has no thread, and is released`() async throws {
        var writer: LogWriter? = try Fixture(capacity: 1_000).writer
        let isGone = { @Sendable [weak writer] in writer == nil }
        writer?.finish(within: .patience)
        writer = nil
        await awaited { isGone() }
    }

    private static func line(_ number: Int) -> [UInt8] {
        Array("\(number) \(String(repeating: "x", count: 990))\n".utf8)
    }

    @Test func `when nothing reads, lines are dropped and counted, and nothing waits`() throws {
        let fixture = try Fixture(capacity: 32 << 10)
        // A pipe takes 64 KiB, the queue 32 KiB more.
        for number in 0..<1_000 { fixture.writer.write(Self.line(number)) }
        #expect(!fixture.writer.flush(within: .milliseconds(20)))
        let (lines, dropped) = fixture.read(until: 1_000)
        #expect(dropped > 700)
        #expect(lines.count + dropped == 1_000)
        // The lines that arrived are complete and in order.
        #expect(lines.allSatisfy { $0.hasSuffix(String(repeating: "x", count: 990)) })
        let numbers = lines.compactMap { $0.split(separator: " ").first.flatMap { Int($0) } }
        #expect(numbers.count == lines.count && numbers == numbers.sorted())
        fixture.writer.finish(within: .patience)
    }

    @Test func `lines that fill the queue to its last byte are written, and the next one is dropped`() throws {
        let line = Self.line(1)
        let fixture = try Fixture(capacity: 3 * line.count)
        let released = fixture.hold()
        for _ in 0..<4 { fixture.writer.write(line) }
        released.signal()
        let (lines, dropped) = fixture.read(until: 4)
        #expect(lines.count == 3 && dropped == 1)
        fixture.writer.finish(within: .patience)
    }

    @Test func `everything is written by the time a flush returns`() throws {
        let fixture = try Fixture(capacity: 32 << 10)
        for number in 0..<20 { fixture.writer.write(Self.line(number)) }
        #expect(fixture.writer.flush(within: .patience))
        #expect(Int(unread(in: fixture.reading)) == (0..<20).reduce(0) { $0 + Self.line($1).count })
        fixture.writer.finish(within: .patience)
    }

    @Test func `a flush waits for the report of one line that was dropped`() throws {
        let fixture = try Fixture(capacity: 10)
        let released = fixture.hold()
        fixture.writer.write(Self.line(0))
        fixture.writer.perform { usleep(50_000) }
        released.signal()
        #expect(fixture.writer.flush(within: .patience))
        #expect(unread(in: fixture.reading) > 0)
        fixture.writer.finish(within: .patience)
    }

    @Test func `what a full disk did not take is counted, and said once there is room`() throws {
        let fixture = try Fixture(capacity: 32 << 10)
        let full = open("/dev/full", O_WRONLY)
        try #require(full >= 0)
        defer { close(full) }
        let pipe = fixture.redirect(to: full)
        for number in 0..<5 { fixture.writer.write(Self.line(number)) }
        #expect(fixture.writer.flush(within: .patience))
        fixture.restore(pipe)
        fixture.writer.write(Self.line(5))
        let (lines, dropped) = fixture.read(until: 6)
        #expect(lines.count == 1 && lines.first?.hasPrefix("5 ") == true)
        #expect(dropped == 5)
        fixture.writer.finish(within: .patience)
    }

    @Test(arguments: [(1, 3), (1_500, 2)])
    func `a line that a full disk has torn does not reach into the next one`(room: Int, lost: Int) async {
        // The limit of a file's size is the whole process's.
        await #expect(processExitsWith: .success) { [room, lost] in
            let file = fileno(tmpfile())
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: rlim_t(room), rlim_max: rlim_t.max)
            try #require(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
            var stream = LogStream(file)
            let lines = (0..<4).map(LogWriterTests.line)
            #expect(stream.put(lines[0] + lines[1] + lines[2]) == lost)
            limit.rlim_cur = limit.rlim_max
            try #require(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
            #expect(stream.put(lines[3]) == 0)
            var written = [UInt8](repeating: 0, count: 5_000)
            let count = pread(file, &written, written.count, 0)
            #expect(Array(written[..<count]) == Array((lines[0] + lines[1])[..<room]) + [0x0a] + lines[3])
        }
    }

    @Test func `a reader that has gone away does no harm`() throws {
        let fixture = try Fixture(capacity: 32 << 10)
        close(fixture.reading)
        for number in 0..<100 { fixture.writer.write(Self.line(number)) }
        #expect(fixture.writer.flush(within: .patience))
        fixture.writer.finish(within: .patience)
    }
}

/// The bytes that could be read from a pipe.
private func unread(in pipe: Int32) -> Int32 {
    var count: Int32 = 0
    return ioctl(pipe, UInt(FIONREAD), &count) == 0 ? count : -1
}

struct JournalStreamTests {
    private func identity(of descriptor: Int32) -> (device: UInt64, inode: UInt64) {
        var status = stat()
        fstat(descriptor, &status)
        return (UInt64(status.st_dev), UInt64(status.st_ino))
    }

    @Test func `the journal reads the stream that the variable names`() throws {
        var pipes: [Int32] = [0, 0]
        try #require(pipe(&pipes) == 0)
        defer { for end in pipes { close(end) } }
        let (device, inode) = identity(of: pipes[1])
        #expect(isJournal(pipes[1], "\(device):\(inode)"))
        for other in [
            nil, "", ":", "\(device)", "\(device):\(inode + 1)", "\(device + 1):\(inode)", "\(device):\(inode):", "x:y",
        ] {
            #expect(!isJournal(pipes[1], other), "\(other ?? "nil")")
        }
        #expect(!isJournal(-1, "\(device):\(inode)"))
    }
}
