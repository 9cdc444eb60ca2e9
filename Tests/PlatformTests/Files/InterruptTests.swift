import DNSWire
import Glibc
import Platform
import Synchronization
import TestSupport
import Testing

/// Signals that arrive while a file is read or written: such a call fails with `EINTR`, and is made again.
@Suite(.onLoop) struct InterruptTests {
    private let directory: TemporaryDirectory
    /// A FIFO that has a reader and a writer.
    private let path: String
    private let pipe: Pipe

    /// Both ends, which never wait.
    private final class Pipe: Sendable {
        let descriptor: Descriptor

        init(_ path: String) { descriptor = Descriptor(owning: open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)) }

        func isReady(for events: Int32) -> Bool {
            var wanted = pollfd(fd: descriptor.number, events: Int16(events), revents: 0)
            return poll(&wanted, 1, 0) == 1
        }
    }

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.path + "/pipe"
        try #require(mkfifo(path, 0o600) == 0)
        pipe = Pipe(path)
        NamedThread.allowInterrupts()
    }

    /// Interrupts a thread that is about to wait, or waits.
    private func interrupt(_ thread: NamedThread) {
        for _ in 0..<1_000 {
            thread.interrupt()
            sched_yield()
        }
    }

    @Test @Loop func `a read that is interrupted is made again`() async throws {
        let result = Mutex<[UInt8]?>(nil)
        let thread = try NamedThread("reader") { [path] in
            let bytes = try? readFile(path, limit: 2, waits: true)
            result.withLock { $0 = bytes }
        }
        #expect(write(pipe.descriptor.number, [1], 1) == 1)
        await awaited { !pipe.isReady(for: POLLIN) }
        interrupt(thread)
        #expect(write(pipe.descriptor.number, [2], 1) == 1)
        thread.join()
        #expect(result.withLock { $0 } == [1, 2])
    }

    @Test @Loop func `a write that is interrupted is made again`() async throws {
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        let isWritten = Atomic(false)
        let thread = try NamedThread("writer") { [path] in
            let hasFailed = (try? writeOutput(path, bytes, mode: 0o600)) == nil
            isWritten.store(!hasFailed, ordering: .relaxed)
        }
        await awaited { pipe.isReady(for: POLLIN) && !pipe.isReady(for: POLLOUT) }
        interrupt(thread)
        var taken: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        await awaited {
            let count = read(pipe.descriptor.number, &buffer, buffer.count)
            taken += buffer.prefix(max(0, count))
            return taken.count == bytes.count
        }
        thread.join()
        let isWhole = isWritten.load(ordering: .relaxed)
        #expect(isWhole)
        #expect(taken == bytes)
    }
}
