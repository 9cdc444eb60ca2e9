import Glibc
import Platform
import Testing

@Suite
struct DescriptorLimitTests {
    @Test
    func `the soft limit is raised as far as it may be`() async {
        await #expect(processExitsWith: .success) {
            var limit = rlimit()
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            getrlimit(resource, &limit)
            let most = min(Int(clamping: limit.rlim_max), DescriptorLimit.wanted)
            limit.rlim_cur = 256
            setrlimit(resource, &limit)
            #expect(DescriptorLimit.raise() == most)
        }
    }
}
