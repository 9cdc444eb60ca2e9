import Glibc
import Platform
import Testing

@Suite struct CPUTimeTests {
    @Test func `a thread's work counts for itself and for its process`() {
        let begin = CPUTime.now
        var sum = 0
        while CPUTime.now.thread - begin.thread < .milliseconds(20) { sum &+= 1 }
        let end = CPUTime.now
        #expect(end.process - begin.process >= .milliseconds(20) && sum > 0)
    }

    @Test func `what another thread does counts for the process alone`() throws {
        let begin = CPUTime.now
        let thread = try NamedThread("busy") {
            let begin = CPUTime.now
            while CPUTime.now.thread - begin.thread < .milliseconds(20) {}
        }
        thread.join()
        let end = CPUTime.now
        #expect(end.process - begin.process >= .milliseconds(20))
        #expect(end.thread - begin.thread < end.process - begin.process)
    }
}
