import TestServers
import TestSupport
import Testing

extension Integration {
    /// A provider that really fails, and comes back: the delay while it fails, and the time until it is used again.
    @Suite(.serialized)
    struct DyingProviderTests {
        /// How it fails: for every request, whatever the name.
        enum Death: String, Sendable {
            case hangs, errors, refuses
            /// It sends PINGs, and answers nothing.
            case pings
            /// Replies begin, and never end.
            case drips

            func begin(at service: FakeDoH) throws {
                switch self {
                case .hangs: try service.behave(.hang)
                case .errors: try service.behave(.status(500))
                case .refuses: try service.close()
                case .pings: try service.behave(.pings)
                case .drips: try service.behave(.drip)
                }
            }

            func end(at service: FakeDoH) throws {
                try service.behave(.answer)
                if self == .refuses { try service.open() }
            }
        }

        /// The time within which a provider's failure must be detected, with 20 names asked for each second.
        private static let noticed: Duration = .seconds(5)
        /// The time within which a provider that is back must be used.
        private static let recovered: Duration = .milliseconds(2_500)
        /// The longest time for a name when no long-failed provider is waited for, less the machine's own stalls.
        private static let prompt: Duration = .milliseconds(700)
        private static let local = "198.51.100.1"

        /// Has clients ask until `status` shows that the provider is not used as usual.
        ///
        /// - Returns: the clients, which go on asking; nil when `status` never showed it.
        private func crowd(
            at stage: DoHStage, whileBacksOffWithin limit: Duration, by watch: Stopwatch
        ) throws -> DoHStage.Crowd? {
            let began = watch.fair
            let crowd = try stage.crowd("crowd", by: watch)
            while try !stage.backsOff() {
                guard watch.fair - began < limit else {
                    _ = try crowd.stop()
                    return nil
                }
            }
            return crowd
        }

        /// Deviations from what is expected, from the provider's end until its failure was detected.
        private func failures(
            _ death: Death, _ service: FakeDoH, _ stage: DoHStage, by watch: Stopwatch
        ) throws -> [String] {
            let warm = (0..<3).map { "www.warm\($0).example" }
            var surprises = try stage.ask(warm, by: watch).surprises
            try death.begin(at: service)
            guard let crowd = try crowd(at: stage, whileBacksOffWithin: Self.noticed, by: watch) else {
                return surprises + ["it is used as usual after \(Self.noticed)"]
            }
            _ = try crowd.stop()
            // Names never asked for, and names whose answers have expired.
            for (names, expected) in [
                ((0..<9).map { "www.cold\($0).example" }, Self.local), (warm, FakeDoH.address),
            ] {
                let lookups = try stage.ask(names, by: watch)
                surprises += lookups.filter { $0.reply?.addresses != [expected] }.map(\.text)
                if lookups.medianTime > Self.prompt { surprises.append("in the middle \(lookups.medianTime)") }
            }
            return surprises
        }

        @Test func `a provider that fails every name is soon no longer waited for, and is used again once it is back`()
        {
            let surprises = Scenes.play([Death.hangs, .errors, .refuses]) { death, watch in
                let service = try FakeDoH(ttl: 1)
                let stage = try DoHStage([service], localDNS: .lie([Self.local]))
                var surprises = try failures(death, service, stage, by: watch)
                let crowd = try stage.crowd("back", by: watch)
                try death.end(at: service)
                let back = watch.fair
                guard crowd.wait(within: .seconds(10), until: { $0.isProviders }) else {
                    return ["it is not used again"]
                }
                let time = watch.fair - back
                if time > Self.recovered { surprises.append("used again after \(time)") }
                _ = try crowd.stop()
                return try surprises + stage.ask((0..<5).map { "www.after\($0).example" }, by: watch).surprises
            }
            #expect(surprises == [])
        }

        @Test func `a provider that sends bytes but no reply is soon no longer waited for`() {
            let surprises = Scenes.play([Death.pings, .drips]) { death, watch in
                let service = try FakeDoH(ttl: 1)
                let stage = try DoHStage([service], localDNS: .lie([Self.local]))
                return try failures(death, service, stage, by: watch)
            }
            #expect(surprises == [])
        }

        @Test func `the first name asked for after the only provider is back waits for it, and does not fail`() {
            let surprises = Scenes.play([Death.hangs, .errors, .refuses]) { death, watch in
                let service = try FakeDoH()
                let stage = try DoHStage([service], localDNS: .silent)
                try death.begin(at: service)
                guard let crowd = try crowd(at: stage, whileBacksOffWithin: Self.noticed, by: watch) else {
                    return ["it is used as usual after \(Self.noticed)"]
                }
                _ = try crowd.stop()
                // The last client of the crowd has just received its SERVFAIL.
                try death.end(at: service)
                return try stage.ask(["www.first.example"], by: watch).surprises
            }
            #expect(surprises == [])
        }

        @Test func `all clients that wait when the only provider comes back are answered by it`() {
            let surprises = Scenes.play { watch in
                let service = try FakeDoH()
                let stage = try DoHStage([service], localDNS: .silent)
                try service.behave(.hang)
                guard let crowd = try crowd(at: stage, whileBacksOffWithin: Self.noticed, by: watch) else {
                    return ["it is used as usual after \(Self.noticed)"]
                }
                // From then on some clients wait for requests that began while the provider still failed.
                let known = watch.fair
                _ = crowd.wait(within: .seconds(5)) { $0.asked > known + .milliseconds(800) }
                try service.behave(.answer)
                let back = watch.fair
                _ = crowd.wait(within: .seconds(5)) { $0.asked > back + .seconds(1) }
                // A client that has waited for long may be near its deadline, and a reply may just have been under way.
                let waiting = try crowd.stop().filter {
                    $0.asked > back - .milliseconds(500) && $0.answered ?? .seconds(60) > back + .milliseconds(30)
                }
                return waiting.count > 10 ? waiting.surprises : ["only \(waiting.count) clients"]
            }
            #expect(surprises == [])
        }
    }
}
