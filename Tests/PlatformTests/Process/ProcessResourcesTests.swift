import Glibc
import Platform
import Testing

/// What the process uses.
struct ProcessResourcesTests {
    @Test func `a running process has some descriptors open, and no more than it may`() {
        let resources = ProcessResources()
        #expect((3...resources.descriptorLimit).contains(resources.descriptors))
    }

    @Test func `descriptors that are opened count`() async {
        await #expect(processExitsWith: .success) {
            let before = ProcessResources().descriptors
            for _ in 0..<200 { guard open("/dev/null", O_RDONLY) >= 0 else { exit(9) } }
            // Other threads of the test's process have some of their own.
            guard (180...220).contains(ProcessResources().descriptors - before) else { exit(1) }
        }
    }

    @Test func `memory and processor time are those of a process that runs`() {
        let resources = ProcessResources()
        #expect(resources.residentBytes > 1 << 20 && resources.processorTime > .zero)
    }
}
