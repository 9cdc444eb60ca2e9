import DNSWire
import Glibc
import Platform
import TestSupport
import Testing

@Suite(.onLoop) struct EventLoopTests {
    private var loop: EventLoop { LoopRunner.shared.loop }

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

    @Test func `assuming the loop's isolation elsewhere stops the process`() async {
        await #expect(processExitsWith: .failure) {
            _ = LoopRunner.shared
            Loop.assumeIsolated {}
        }
    }

    @Test func `an idle loop is never woken`() async {
        await #expect(processExitsWith: .success) {
            // In a process of its own: other tests would wake this one's loop.
            let loop = LoopRunner.shared.loop
            func turns() async -> UInt64 { await Task { @Loop in loop.turns }.value }
            _ = await turns()
            _ = await Task { @Loop in
                let timer = loop.schedule(after: .milliseconds(150)) {}
                // Cancelled only after the kernel has been given it.
                await loop.sleep(until: loop.now + .milliseconds(1))
                timer.cancel()
            }.value
            usleep(50_000)
            let before = await turns()
            usleep(300_000)
            // The second query of the turns is itself the only reason to wake up.
            guard await turns() - before == 1 else { exit(1) }
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

    @Test @Loop func `what is left for a turn's end runs in it, once, after the jobs that wait`() async {
        #expect(
            await orderInQuietTurns(["0 job", "0 end"]) { inbox in
                let turn = loop.turns
                loop.atTurnEnd { inbox.add("\(loop.turns - turn) end") }
                Loop.spawn { inbox.add("\(loop.turns - turn) job") }
            })
    }

    @Test @Loop func `work that a turn's end leaves comes at the next end, without waiting`() async {
        #expect(
            await orderInQuietTurns(["1 end", "2 job"]) { inbox in
                let turn = loop.turns
                loop.atTurnEnd {
                    loop.atTurnEnd {
                        inbox.add("\(loop.turns - turn) end")
                        Loop.spawn { inbox.add("\(loop.turns - turn) job") }
                    }
                }
            })
    }

    @Test @Loop func `what was done at a turn's end is not done at later ones`() async {
        let inbox = Inbox<Int>()
        for number in 0..<3 {
            let ended = Inbox<Bool>()
            loop.atTurnEnd {
                inbox.add(number)
                ended.add(true)
            }
            _ = await ended.wait(for: 1)
        }
        await loop.sleep(until: loop.now)
        #expect(inbox.elements == [0, 1, 2])
    }

    /// Has two things noted until they are in this order; false if they never are.
    ///
    /// Tests share the loop: where others have left more jobs than one turn runs, ours run in a later one.
    @Loop private func orderInQuietTurns(_ order: [String], note: @Loop (Inbox<String>) -> Void) async -> Bool {
        for _ in 0..<1_000 {
            let inbox = Inbox<String>()
            note(inbox)
            if await inbox.wait(for: 2) == order { return true }
        }
        return false
    }
}
