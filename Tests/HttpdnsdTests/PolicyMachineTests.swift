import Testing

@testable import httpdnsd

@Suite struct PolicyMachineTests {
    @Test func `a machine's place is the same each time, and machines are spread evenly`() {
        let places = (0..<10_000).map { PolicyMachine.percentile(of: Array("machine \($0)".utf8)) }
        #expect(places == (0..<10_000).map { PolicyMachine.percentile(of: Array("machine \($0)".utf8)) })
        #expect(places.allSatisfy { (0..<100).contains($0) })
        #expect((800...1_200).contains(places.count { $0 < 10 }))
    }
}
