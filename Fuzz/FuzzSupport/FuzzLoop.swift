@testable import Platform
import DNSWire

/// An event loop whose thread is the fuzzer's. It never runs.
let fuzzLoop: EventLoop = {
    do {
        let loop = try EventLoop()
        loop.waker.adoptCurrentThread()
        Loop.executor.attach(loop.waker)
        return loop
    } catch {
        preconditionFailure("no loop: \(error)")
    }
}()

/// Runs work that belongs on the loop.
func onLoop(_ body: @Loop () -> Void) {
    _ = fuzzLoop
    Loop.assumeIsolated(body)
}
