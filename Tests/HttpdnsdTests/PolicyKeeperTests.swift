import Admin
import Configuration
import DNSWire
import Foundation
import Platform
import Synchronization
import TestServers
import TestSupport
import Testing
import Upstreams

@testable import httpdnsd

/// A signed policy that is stored or fetched, under clocks that are set and keys that change.
@Suite(.onLoop, .timeLimit(.minutes(10))) struct PolicyKeeperTests {
    /// 2030-01-01T00:00:00Z.
    private static let newYear: Int64 = 1_893_456_000

    /// A time of day that is set.
    private final class TimeOfDay: Sendable {
        private let seconds = Mutex(PolicyKeeperTests.newYear)

        var now: Int64 {
            get { seconds.withLock { $0 } }
            set { seconds.withLock { $0 = newValue } }
        }
    }

    /// A machine whose policy, with serial 1, ends a day after the new year.
    @Loop
    private final class Machine {
        static let day: Int64 = 86_400
        let directory: TemporaryDirectory
        let keys: [PolicySecretKey]
        let clock = ManualClock()
        let timeOfDay = TimeOfDay()
        /// The serials that were put in force, nil for none.
        private(set) var changes: [Int?] = []

        init() throws {
            directory = try TemporaryDirectory()
            keys = try ["a", "b"].map { [directory] in try PolicySecretKey.make("\(directory.path)/\($0).key") }
        }

        var file: String { directory.path + "/fleet.policy" }

        /// The signed policy, where the configuration has it.
        func publish(serial: Int = 1, key: Int = 0, to path: String? = nil) throws {
            let text = "[document]\nserial = \(serial)\nexpires = 2030-01-02T00:00:00Z\nswitch = \"off\"\n"
            let signed = try #require(keys[key].signed(Array(text.utf8)[...]))
            try Data(signed).write(to: URL(filePath: path ?? file), options: .atomic)
        }

        /// - Parameters:
        ///   - trusted: numbers of keys.
        ///   - disk: the path of the cache.
        func settings(trusting trusted: [Int] = [0], disk: String = "") throws -> Configuration {
            let list = trusted.map { "\"\(keys[$0].publicKey)\"" }.joined(separator: ", ")
            let text = Patient.configuration.replacing("path = \"\"", with: "path = \"\(disk)\"")
            // Else a policy is stored beside the socket.
            return try Configuration.parse(
                text: text + "[control]\nsocket = \"\"\n[policy]\nurl = \"\(file)\"\npublic_key = [\(list)]\n"
            )
            .configuration
        }

        func keeper(_ settings: Configuration) -> PolicyKeeper {
            PolicyKeeper(
                settings, clock: clock, events: EventLog(LogRecorder().logger, clock: clock),
                time: { [timeOfDay] in timeOfDay.now })
        }

        func start(_ keeper: PolicyKeeper, _ settings: Configuration) {
            keeper.start { location in
                let loop = LoopRunner.shared.loop
                return location.fetch(
                    by: settings, HostSources(localDNS: LocalDNS(groups: [], loop: loop)), paths: NetworkPaths(),
                    loop: loop)
            } onChange: { [unowned self] in
                changes.append(keeper.decide()?.document.serial)
            }
        }
    }

    @Test @Loop func `a policy that a wrong clock took for expired is in force once the clock is right`() async throws {
        let machine = try Machine()
        let disk = machine.directory.path + "/cache.sqlite"
        try machine.publish(to: disk + ".policy")
        machine.timeOfDay.now += 10 * 365 * Machine.day
        let settings = try machine.settings(disk: disk)
        let keeper = machine.keeper(settings)
        #expect(keeper.decide() == nil)
        machine.start(keeper, settings)
        await machine.clock.advance(by: .seconds(1))
        #expect(keeper.report.state == .expired && !keeper.switchesOff)
        machine.timeOfDay.now = Self.newYear
        // Until it is in force, nothing says that it is.
        #expect(keeper.report.state == .expired && !keeper.switchesOff)
        await machine.clock.advance(by: .seconds(3_600))
        #expect(machine.changes == [1])
        #expect(keeper.report.state == .inForce && keeper.switchesOff)
        machine.timeOfDay.now += Machine.day
        await machine.clock.advance(by: .seconds(3_600))
        #expect(machine.changes == [1, nil])
        #expect(keeper.report.state == .expired && !keeper.switchesOff)
    }

    @Test @Loop func `a policy that a reload puts in force under a right clock is dropped at its end`() async throws {
        let machine = try Machine()
        let disk = machine.directory.path + "/cache.sqlite"
        try machine.publish(to: disk + ".policy")
        machine.timeOfDay.now += 10 * 365 * Machine.day
        let settings = try machine.settings(disk: disk)
        let keeper = machine.keeper(settings)
        machine.start(keeper, settings)
        await machine.clock.advance(by: .seconds(1))
        machine.timeOfDay.now = Self.newYear
        keeper.take(settings, stored: keeper.stored(by: settings))
        #expect(keeper.decide()?.document.serial == 1)
        keeper.resume()
        machine.timeOfDay.now += Machine.day
        await machine.clock.advance(by: .seconds(3_600))
        #expect(machine.changes == [nil])
        #expect(keeper.report.state == .expired)
    }

    @Test @Loop func `a policy that is not stored stays in force while the key that signed it is trusted`() async throws
    {
        let machine = try Machine()
        try machine.publish()
        let settings = try machine.settings()
        let keeper = machine.keeper(settings)
        machine.start(keeper, settings)
        await awaited { machine.changes == [1] }
        for (keys, serial) in [([0, 1], 1), ([1], nil)] as [([Int], Int?)] {
            let settings = try machine.settings(trusting: keys)
            keeper.take(settings, stored: keeper.stored(by: settings))
            #expect(keeper.decide()?.document.serial == serial)
        }
    }

    @Test @Loop func `a policy signed again by another key is that key's`() async throws {
        let machine = try Machine()
        try machine.publish()
        let settings = try machine.settings(trusting: [0, 1])
        let keeper = machine.keeper(settings)
        machine.start(keeper, settings)
        await awaited { machine.changes == [1] }
        // The end of the problem shows that the document was judged.
        try FileManager.default.removeItem(atPath: machine.file)
        await machine.clock.advance(by: .seconds(300))
        await awaited { !keeper.report.problem.isEmpty }
        try machine.publish(key: 1)
        await machine.clock.advance(by: .seconds(300))
        await awaited { keeper.report.problem.isEmpty }
        let next = try machine.settings(trusting: [1])
        keeper.take(next, stored: keeper.stored(by: next))
        #expect(keeper.decide()?.document.serial == 1)
    }
}
