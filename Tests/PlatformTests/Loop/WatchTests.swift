import DNSWire
import Glibc
import Platform
import TestSupport
import Testing

/// A pipe whose ends the test closes explicitly, as a C library would.
private struct Pipe {
    let reader: Int32
    let writer: Int32

    init() {
        var ends: [Int32] = [-1, -1]
        _ = pipe(&ends)
        (reader, writer) = (ends[0], ends[1])
    }

    /// Makes the reader readable.
    func write() { _ = Glibc.write(writer, "x", 1) }

    /// Takes back what one `write()` has written.
    func read() {
        var byte: UInt8 = 0
        _ = Glibc.read(reader, &byte, 1)
    }

    func close() {
        _ = Glibc.close(reader)
        _ = Glibc.close(writer)
    }
}

@Suite(.onLoop, .serialized) struct WatchTests {
    private var loop: EventLoop { LoopRunner.shared.loop }

    @Test @Loop func `a readable descriptor is delivered until it has been read`() async throws {
        let pipe = Pipe()
        defer { pipe.close() }
        let inbox = Inbox<Interest>()
        let watch = try loop.watch(pipe.reader, for: .readable) { inbox.add($0) }
        defer { watch.cancel() }
        pipe.write()
        #expect(await inbox.wait(for: 3).prefix(3) == [.readable, .readable, .readable])
    }

    @Test @Loop func `what came while the loop stood still goes before timers that became due then`() async throws {
        let (first, second) = (Pipe(), Pipe())
        let inbox = Inbox<String>()
        let watches = try [
            loop.watch(first.reader, for: .readable) { _ in
                first.read()
                inbox.add("first")
                second.write()
            },
            loop.watch(second.reader, for: .readable) { _ in
                second.read()
                inbox.add("second")
            },
        ]
        _ = loop.schedule(after: .milliseconds(1)) { inbox.add("timer") }
        first.write()
        usleep(5_000)
        #expect(await inbox.wait(for: 3) == ["first", "second", "timer"])
        for watch in watches { watch.cancel() }
        for pipe in [first, second] { pipe.close() }
    }

    @Test @Loop func `timers that are due wait for all ready descriptors, however many`() async throws {
        let pipes = (0..<300).map { _ in Pipe() }
        let inbox = Inbox<String>()
        let watches = try pipes.map { pipe in
            try loop.watch(pipe.reader, for: .readable) { _ in
                pipe.read()
                inbox.add("ready")
            }
        }
        _ = loop.schedule(after: .zero) { inbox.add("timer") }
        for pipe in pipes { pipe.write() }
        #expect(await inbox.wait(for: pipes.count + 1).last == "timer")
        for watch in watches { watch.cancel() }
        for pipe in pipes { pipe.close() }
    }

    @Test @Loop func `a descriptor is delivered only for the interest named`() async throws {
        let pipe = Pipe()
        defer { pipe.close() }
        let inbox = Inbox<Interest>()
        let watch = try loop.watch(pipe.writer, for: .readable) { inbox.add($0) }
        defer { watch.cancel() }
        await loop.nextTurn()
        #expect(inbox.elements.isEmpty)
        watch.update(.writable)
        #expect(await inbox.wait(for: 1).first == .writable)
    }

    @Test @Loop func `a hang-up is delivered as both interests`() async throws {
        let pipe = Pipe()
        let inbox = Inbox<Interest>()
        let watch = try loop.watch(pipe.reader, for: .readable) { inbox.add($0) }
        close(pipe.writer)
        #expect(await inbox.wait(for: 1).first == [.readable, .writable])
        watch.cancel()
        close(pipe.reader)
    }

    @Test @Loop func `with an empty interest not even a hang-up is delivered, until it is filled again`() async throws {
        let pipe = Pipe()
        let inbox = Inbox<Interest>()
        let watch = try loop.watch(pipe.reader, for: .readable) { inbox.add($0) }
        watch.update([])
        close(pipe.writer)
        await loop.nextTurn()
        #expect(inbox.elements.isEmpty)
        watch.update(.readable)
        _ = await inbox.wait(for: 1)
        watch.cancel()
        close(pipe.reader)
    }

    @Test @Loop func `a watch cancelled by another handler of the same batch gets no event`() async throws {
        let pipes = [Pipe(), Pipe()]
        defer { for pipe in pipes { pipe.close() } }
        let inbox = Inbox<Int>()
        let watches = Inbox<Watch>()
        for (index, pipe) in pipes.enumerated() {
            pipe.write()
            watches.add(
                try loop.watch(pipe.reader, for: .readable) { _ in
                    inbox.add(index)
                    for watch in watches.elements { watch.cancel() }
                })
        }
        await loop.nextTurn()
        await loop.nextTurn()
        #expect(inbox.elements.count == 1)
    }

    @Test @Loop func `of an event fetched already only what is still wanted is delivered`() async throws {
        var watches: [Watch] = []
        let inbox = Inbox<Interest>()
        let wanted = Inbox<Watch>()
        var ends: [Int32] = []
        defer { for end in ends { close(end) } }
        for index in 0..<2 {
            var pair: [Int32] = [-1, -1]
            try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
            ends += pair
            _ = Glibc.write(pair[1], "x", 1)
            watches.append(
                try loop.watch(pair[0], for: [.readable, .writable]) { interest in
                    inbox.add(interest)
                    wanted.elements[index].cancel()
                    wanted.elements[1 - index].update(.writable)
                })
        }
        for watch in watches { wanted.add(watch) }
        #expect(await inbox.wait(for: 2) == [[.readable, .writable], .writable])
    }

    @Test @Loop func `an event of a closed descriptor does not reach the next owner of its number`() async throws {
        let pipes = [Pipe(), Pipe()]
        let inbox = Inbox<String>()
        let later = Inbox<(pipe: Pipe, watch: Watch)>()
        let watches = Inbox<Watch>()
        for (index, pipe) in pipes.enumerated() {
            pipe.write()
            watches.add(
                try loop.watch(pipe.reader, for: .readable) { _ in
                    inbox.add("first")
                    watches.elements[index].cancel()
                    // The other one, whose event is in the same batch, is closed and its number reused immediately.
                    let other = pipes[1 - index]
                    guard later.elements.isEmpty else { return }
                    let next = Pipe()
                    _ = dup2(next.reader, other.reader)
                    close(next.reader)
                    guard let watch = try? loop.watch(other.reader, for: .readable, { _ in inbox.add("next") }) else {
                        return
                    }
                    later.add((next, watch))
                })
        }
        await loop.nextTurn()
        await loop.nextTurn()
        #expect(inbox.elements == ["first"])
        // The new owner still works, also when the old one is cancelled only now.
        for watch in watches.elements { watch.cancel() }
        let successor = try #require(later.elements.first)
        successor.pipe.write()
        #expect(await inbox.wait(for: 2).last == "next")
        successor.watch.cancel()
        close(successor.pipe.writer)
        for pipe in pipes { pipe.close() }
    }

    @Test @Loop func `cancelling after the descriptor was closed is no error`() async throws {
        let pipe = Pipe()
        let watch = try loop.watch(pipe.reader, for: .readable) { _ in }
        pipe.close()
        watch.update(.writable)
        watch.cancel()
        watch.cancel()
        #expect(!watch.isActive)
    }

    @Test @Loop func `a watch that could not be armed again is armed by the next update`() async throws {
        let pipe = Pipe()
        defer { pipe.close() }
        let inbox = Inbox<Interest>()
        let watch = try loop.watch(pipe.reader, for: .readable) { inbox.add($0) }
        defer { watch.cancel() }
        watch.update([])
        // Meanwhile its number is that of a file, which cannot be waited for.
        let (reader, file) = (dup(pipe.reader), open("/proc/self/status", O_RDONLY | O_CLOEXEC))
        defer { for number in [reader, file] { close(number) } }
        _ = dup2(file, pipe.reader)
        #expect(!watch.update(.readable))
        _ = dup2(reader, pipe.reader)
        pipe.write()
        #expect(watch.update(.readable))
        await loop.nextTurn()
        #expect(inbox.elements.first == .readable)
    }

    @Test @Loop func `a descriptor that cannot be waited for is refused`() {
        let file = open("/proc/self/status", O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        #expect(throws: SystemError(code: EPERM, operation: "watch descriptor \(file)")) {
            _ = try loop.watch(file, for: .readable) { _ in }
        }
    }

    @Test @Loop func `a cancelled watch releases what its handler holds`() throws {
        let pipe = Pipe()
        defer { pipe.close() }
        weak var held: Inbox<Int>?
        var watch: Watch?
        do {
            let inbox = Inbox<Int>()
            held = inbox
            watch = try loop.watch(pipe.reader, for: .readable) { _ in inbox.add(1) }
        }
        #expect(held != nil)
        watch?.cancel()
        #expect(held == nil)
    }
}
