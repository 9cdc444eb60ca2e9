import Platform
import Scheduling
import TestSupport
import Testing

@Suite(.onLoop) struct EventLoopTests {
    let loop = LoopRunner.shared.loop

    @Test @Loop func `a test body runs on the thread of the loop`() {
        #expect(loop.waker.isCurrent())
    }

    @Test func `a body that is not on the loop runs elsewhere`() {
        #expect(!loop.waker.isCurrent())
    }

    @Test @Loop func `a timer fires, and not early`() async {
        let due = loop.now + .milliseconds(5)
        #expect(await loop.sleep(until: due))
        #expect(loop.now >= due)
    }
}
