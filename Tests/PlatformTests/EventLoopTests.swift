import Foundation
import Glibc
import Platform
import Scheduling
import TestSupport
import Testing

@Suite(.onLoop) struct EventLoopTests {
    private var loop: EventLoop { LoopRunner.shared.loop }

    @Test @Loop func `a test body runs on the thread of the loop`() {
        #expect(loop.waker.isCurrent())
    }

    @Test func `a body that is not on the loop runs elsewhere`() {
        #expect(!loop.waker.isCurrent())
    }

    @Test @Loop func `a spawned task and its children stay on the loop's thread`() async {
        let inbox = Inbox<Bool>()
        let waker = loop.waker
        Loop.spawn {
            async let child = waker.isCurrent()
            inbox.add(await child)
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await inbox.add(waker.isCurrent()) }
            }
            inbox.add(waker.isCurrent())
        }
        #expect(await inbox.wait(for: 3) == [true, true, true])
    }

    @Test @Loop func `work spawned on another thread wakes the loop`() async throws {
        let inbox = Inbox<Bool>()
        let waker = loop.waker
        let thread = try NamedThread("spawner") { Loop.spawn { inbox.add(waker.isCurrent()) } }
        #expect(await inbox.wait(for: 1) == [true])
        thread.join()
    }

    @Test @Loop func `a C callback on the loop may assume its isolation`() async throws {
        let inbox = Inbox<Int>()
        // As C would call it: synchronously, from a function that knows nothing of actors.
        func callback() { Loop.assumeIsolated { inbox.add(1) } }
        callback()
        #expect(inbox.elements == [1])
    }

    @Test func `assuming the loop's isolation elsewhere stops the process`() async {
        await #expect(processExitsWith: .failure) {
            _ = LoopRunner.shared
            Loop.assumeIsolated {}
        }
    }

    @Test func `an idle loop is never woken`() async {
        await #expect(processExitsWith: .success) {
            // A process of its own: other tests would wake this one's loop.
            let loop = LoopRunner.shared.loop
            let before = await Task { @Loop in
                // Leaves a set timer behind that nobody waits for any more.
                loop.schedule(after: .milliseconds(50)) {}.cancel()
                return loop.turns
            }.value
            usleep(300_000)
            let after = await Task { @Loop in loop.turns }.value
            // One for the timer's cancellation at most, one for the second question.
            guard after - before <= 1 else { exit(1) }
        }
    }

    @Test func `a loop that is stopped returns from run`() async {
        await #expect(processExitsWith: .success) {
            let loop = try EventLoop()
            let thread = try NamedThread("loop") { loop.run() }
            _ = await Task { @Loop in loop.turns }.value
            loop.stop()
            thread.join()
        }
    }
}
