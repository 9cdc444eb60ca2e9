import DNSResolver
import DNSWire
import TestSupport

// Sequences that random steps alone seldom make. Each is generated from a separate seed, so that the rest of a world
// stays as it is without them.

extension SimulationPlan {
    private static let attackSeed: UInt64 = 0x6174_7461_636b
    private static let recoverySeed: UInt64 = 0x7265_636f_7665

    /// Adds attacks in one world of three, and a recovery in one of twelve.
    mutating func addScenes(seed: UInt64, on names: [Int]) {
        var lots = SeededNumbers(seed ^ Self.attackSeed)
        if lots.happens(1, in: 3) {
            for number in 0..<lots.number(1...Attack.domains.count) {
                guard lots.happens(1, in: 2) else {
                    attacks.append(Attack(&lots, names: names))
                    insert([.attack(number)], &lots)
                    continue
                }
                let victim = lots.pick(names)
                attacks.append(Attack(&lots, names: names, victim: victim))
                insert(neighbour(&lots, number, of: victim), &lots)
            }
        }
        lots = SeededNumbers(seed ^ Self.recoverySeed)
        if lots.happens(1, in: 12) { insert(recovery(&lots, names), &lots) }
    }

    private mutating func insert(_ scene: [Step], _ lots: inout SeededNumbers) {
        steps.insert(contentsOf: scene, at: lots.number(0...(steps.count - 1)))
    }

    /// A name depends on LocalDNS, since the providers fail, and an attacker asks for names that have its address.
    private func neighbour(_ lots: inout SeededNumbers, _ attack: Int, of victim: Int) -> [Step] {
        let failure = lots.pick([Conduct.Reply.silence, .failure(.network("refused"))])
        var local = Conduct(.addresses, delay: .zero, ttl: 60)
        local.addresses = [lots.pick([.honest, .honest, .slowHonest, .plain])]
        return adopt(Conduct(failure, delay: .zero, ttl: 0), local: local) + [
            .pass(.seconds(10)), .attack(attack), .pass(.milliseconds(lots.pick([100, 1_700, 3_100, 5_000]))),
            .ask(Asking(name: victim, types: [.a, .aaaa])), .pass(.seconds(3)),
        ]
    }

    /// Every provider fails for a while, and then works again: nothing else does.
    private func recovery(_ lots: inout SeededNumbers, _ names: [Int]) -> [Step] {
        let local = Conduct(.failure(.responseCode(.refused)), delay: .zero, ttl: 0)
        let asks = names.map { Step.ask(Asking(name: $0, types: [.a, .aaaa])) }
        let delay = Duration.milliseconds(lots.pick([10, 40, 90, 250]))
        return adopt(Conduct(.silence, delay: .zero, ttl: 0), local: local) + asks
            + [.pass(.seconds(lots.pick([3, 10, 40])))] + asks + [.pass(.seconds(3))]
            + adopt(Conduct(.addresses, delay: delay, ttl: 60), local: local)
            + [.pass(.seconds(lots.pick([10, 12, 31])))] + asks + [.pass(.seconds(3))]
    }

    /// Another conduct for the servers of all providers, and for every LocalDNS.
    private func adopt(_ conduct: Conduct, local: Conduct) -> [Step] {
        let count = providers.reduce(0) { $0 + $1.addresses }
        return (0..<count).map { .conduct(server: $0, conduct) }
            + (0..<Self.localDNSCount).map { .conduct(server: count + $0, local) }
    }
}
