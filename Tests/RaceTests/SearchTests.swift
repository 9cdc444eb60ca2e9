import Glibc
import Testing

/// The promises of the strategy in the states of a race. `HTTPDNSD_STATES` says how many of each world are visited at
/// most: few by default, 25,000 with `scripts/test --all`.
struct SearchTests {
    /// The most states of a world that are visited.
    private static let states = getenv("HTTPDNSD_STATES").flatMap { Int(String(cString: $0)) } ?? 40

    @Test("in every state of a race the promises hold")
    func promises() async {
        var (states, steps) = (0, 0)
        await withTaskGroup(of: (states: Int, steps: Int, faults: [String]).self) { group in
            for number in Worlds.all.indices {
                group.addTask {
                    var search = Search(Worlds.all[number], limit: Self.states)
                    search.run()
                    let faults = search.findings.map { "\($0.key)\n  \(search.world.name)\n  \($0.value.text)" }
                    return (search.states, search.steps, faults.sorted())
                }
            }
            for await search in group {
                (states, steps) = (states + search.states, steps + search.steps)
                for fault in search.faults { Issue.record("\(fault)") }
            }
        }
        print("\(states) states, \(steps) steps, in \(Worlds.all.count) worlds")
    }
}
