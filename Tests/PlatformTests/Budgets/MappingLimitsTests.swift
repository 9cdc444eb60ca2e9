import Testing

@testable import Platform

@Suite struct MappingLimitsTests {
    private static func limits(
        space: String = "unlimited", data: String = "unlimited", stack: String = "8388608"
    ) -> MappingLimits {
        let files = [
            "/proc/self/limits": """
            Limit                     Soft Limit           Hard Limit           Units
            Max data size             \(data)            unlimited            bytes
            Max stack size            \(stack)              unlimited            bytes
            Max address space         \(space)            unlimited            bytes

            """,
            "/proc/self/status": "Name:\thttpdnsd\nVmPeak:\t  999999 kB\nVmSize:\t  102400 kB\nVmData:\t   20480 kB\n",
        ]
        return MappingLimits { files[$0] }
    }

    @Test func `without a limit of mappings, and without proc, memory is not limited`() {
        #expect(Self.limits().memory(receivers: 4) == nil)
        #expect(MappingLimits { _ in nil }.memory(receivers: 4) == nil)
    }

    @Test func `of the address space, what is mapped already and the stacks of all threads are not memory`() {
        // 512 MiB less 100 that are mapped and ten stacks of 8; the program's own are among the 100.
        let memory = Self.limits(space: "\(512 << 20)").memory(receivers: 4)
        #expect(memory == ((512 - 100 - 80) << 20) + MemoryBudget.base)
    }

    @Test func `a limit of data counts the data alone, and the tighter of both limits counts`() {
        #expect(Self.limits(data: "\(256 << 20)").memory(receivers: 4) == ((256 - 20 - 80) << 20) + MemoryBudget.base)
        let both = Self.limits(space: "\(300 << 20)", data: "\(256 << 20)").memory(receivers: 4)
        #expect(both == ((300 - 100 - 80) << 20) + MemoryBudget.base)
    }

    @Test(arguments: ["1", "1048576", "104857600", "209715200"])
    func `a limit that leaves nothing leaves what the program needs`(space: String) {
        #expect((Self.limits(space: space).memory(receivers: 4) ?? 0) >= MemoryBudget.base)
        #expect((Self.limits(space: space).memory(receivers: 4) ?? .max) <= 44 << 20)
    }

    @Test func `stacks without a limit count as those of the usual one`() {
        let memory = Self.limits(space: "\(512 << 20)", stack: "unlimited").memory(receivers: 4)
        #expect(memory == Self.limits(space: "\(512 << 20)").memory(receivers: 4))
    }

    @Test func `numbers that no kernel writes are no limit`() {
        for text in ["", "-1", "x", "99999999999999999999"] {
            #expect(Self.limits(space: text).memory(receivers: 4) == nil)
        }
    }
}
