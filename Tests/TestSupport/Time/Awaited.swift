import DNSWire
import Platform
package import Testing

/// Returns once `condition` holds; records an issue when it does not come to that.
@Loop
package func awaited(_ condition: @Loop () -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async {
    let loop = LoopRunner.shared.loop
    let end = loop.now + .patience
    while !condition() {
        guard loop.now < end else {
            Issue.record("what a test waits for never holds", sourceLocation: sourceLocation)
            return
        }
        await loop.sleep(until: loop.now + .milliseconds(1))
    }
}
