import Platform
import Testing

/// What the process uses.
struct ProcessResourcesTests {
    @Test func `a running process has some descriptors open, and no more than it may`() {
        let resources = ProcessResources()
        #expect((3...resources.descriptorLimit).contains(resources.descriptors))
    }

    @Test func `memory and processor time are those of a process that runs`() {
        let resources = ProcessResources()
        #expect(resources.residentBytes > 1 << 20 && resources.processorTime > .zero)
    }
}
