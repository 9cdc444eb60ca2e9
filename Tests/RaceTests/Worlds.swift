import DNSResolver

/// The worlds of the search: for one type, everything about ranks and times; for two, the families.
enum Worlds {
    static let few = [0, 100, 200, 300, 600, 900, 1900, 2300]
    static let fewer = [0, 100, 300, 900, 2300]
    static let edges = [
        0, 199, 200, 201, 299, 300, 301, 599, 600, 601, 899, 900, 901, 1899, 1900, 1901, 2299, 2300,
    ]
    private static let p1 = World.Source(provider: 0)
    private static let p2 = World.Source(provider: 1)
    private static let young = RaceRules.Stale(.records, isYoung: true)
    private static let old = RaceRules.Stale(.records, isYoung: false)
    private static let gone = RaceRules.Stale(.nxDomain, isYoung: true)
    private static let modes: [RaceRules.Mode] = [.httpdnsFirst, .localDNSFirst, .httpdnsOnly]

    static let all: [World] = ranks + lines + edgesOfTime + checks + cache + families

    private static func world(_ name: String, _ providers: [World.Source], _ change: (inout World) -> Void) -> World {
        var world = World(providers)
        world.name = name
        change(&world)
        if world.times.count > few.count, world.first.count + world.later.count > 1 { world.times = few }
        return world
    }

    /// One type, one provider or answer kind each: every mode, belief, stale answer and preset.
    private static let ranks: [World] = modes.flatMap { mode in
        let beliefs: [(RaceRules.CertificateCheck, Bool)] = [
            (.auto, false), (.auto, true), (.strict, false), (.lenient, true), (.off, false),
        ]
        return beliefs.flatMap { check, isListed in
            [nil, young, old, gone].flatMap { stale in
                [false, true].flatMap { hasPreset -> [World] in
                    if mode == .httpdnsOnly, check != .auto || isListed { return [] }
                    if mode == .localDNSFirst, check == .off { return [] }
                    if hasPreset, let stale, stale != young { return [] }
                    let name =
                        "\(mode) \(check)\(isListed ? " listed" : "") stale \(stale.map { "\($0)" } ?? "none")"
                        + (hasPreset ? " preset" : "")
                    func set(_ world: inout World) {
                        (world.mode, world.check, world.isListed) = (mode, check, isListed)
                        (world.stale, world.hasPreset, world.replies) = (stale, hasPreset, [.records(1)])
                    }
                    return [
                        world("two providers, \(name)", [p1, p2], set),
                        world("one provider, two clients, \(name)", [p1]) {
                            set(&$0)
                            $0.later = [.a]
                        },
                    ]
                }
            }
        }
    }

    /// Lines: health, billing, addresses, three providers.
    private static let lines: [World] = {
        func source(
            _ number: Int, hedge: Bool = true, _ health: RaceRules.Health = .usable, addresses: Int = 1
        ) -> World.Source {
            World.Source(provider: number, mayHedge: hedge, health: health, addresses: addresses)
        }
        let lines: [(String, [World.Source])] = [
            ("P1 in backoff", [source(0, .backoff), p2]), ("P1 probed", [source(0, .probed), p2]),
            ("both probed", [source(0, .probed), source(1, .probed)]),
            ("both in backoff", [source(0, .backoff), source(1, .backoff)]),
            ("P1 alone, probed", [source(0, .probed)]), ("P1 alone, in backoff", [source(0, .backoff)]),
            ("P1 without hedge", [source(0, hedge: false), p2]), ("P2 without hedge", [p1, source(1, hedge: false)]),
            ("P1 alone without hedge", [source(0, hedge: false)]),
            ("both without hedge", [source(0, hedge: false), source(1, hedge: false)]),
            ("P1 alone, two addresses", [source(0, addresses: 2)]),
            ("P1 with two addresses", [source(0, addresses: 2), p2]),
            ("P1 alone without hedge, two addresses", [source(0, hedge: false, addresses: 2)]),
            ("three providers", [p1, p2, source(2)]),
            ("three providers, the last without hedge", [p1, p2, source(2, hedge: false)]),
        ]
        return lines.flatMap { name, line in
            modes.flatMap { mode in
                [nil, young].map { stale in
                    world("\(name), \(mode)\(stale == nil ? "" : " stale")", line) {
                        ($0.mode, $0.stale, $0.replies) = (mode, stale, [.records(1)])
                        $0.troubles =
                            line.contains { $0.addresses > 1 }
                            ? [.fails, .refuses] : line.count < 3 ? [.fails, .busy] : [.fails]
                        $0.localReplies = [.records(1), .noData, nil]
                        if line.count == 3 { $0.times = few }
                    }
                }
            }
        }
    }()

    /// Each number of the page, a millisecond before it, at it, and after it.
    private static let edgesOfTime: [World] = {
        let lines = [("P1", [p1]), ("P1 probed", [World.Source(provider: 0, health: .probed)]), ("P1, P2", [p1, p2])]
        return lines.flatMap { name, line in
            modes.flatMap { mode in
                [nil, young, old].map { stale in
                    world("edges, \(name), \(mode), stale \(stale.map { "\($0)" } ?? "none")", line) {
                        ($0.mode, $0.stale, $0.times) = (mode, stale, edges)
                        ($0.replies, $0.troubles, $0.localReplies) = ([.records(1)], [.fails], [.records(1), nil])
                    }
                }
            }
        }
    }()

    /// LocalDNS: several addresses, the clock, `localdns.unverified`, its own health, portal checks.
    private static let checks: [World] = {
        var all: [World] = []
        for mode in [RaceRules.Mode.httpdnsFirst, .localDNSFirst] {
            for isListed in [false, true] {
                let name = "\(mode)\(isListed ? " listed" : "")"
                func set(_ world: inout World) {
                    (world.mode, world.isListed) = (mode, isListed)
                    (world.replies, world.troubles) = ([.records(1)], [.fails])
                }
                all += [
                    world("four addresses, \(name)", [p1]) {
                        set(&$0)
                        ($0.localReplies, $0.times) = ([.records(4)], fewer)
                    },
                    world("two addresses, \(name)", [p1]) {
                        set(&$0)
                        ($0.localReplies, $0.stale) = ([.records(2)], young)
                    },
                    world("the clock is wrong, \(name)", [p1]) {
                        set(&$0)
                        ($0.isClockWrong, $0.verdicts) = (true, [.verified, .forged, .wrongTime])
                    },
                    world("unverified, \(name)", [p1, p2]) {
                        set(&$0)
                        ($0.isUnverified, $0.check) = (true, .strict)
                    },
                ]
            }
            for health in [RaceRules.Health.backoff, .probed] {
                all.append(
                    world("LocalDNS \(health), \(mode)", [p1, p2]) {
                        ($0.mode, $0.localHealth, $0.replies) = (mode, health, [.records(1)])
                    })
            }
        }
        all.append(
            world("portal check", [p1]) { ($0.mode, $0.later, $0.replies) = (.portal, [.a], [.records(1)]) })
        return all
    }()

    /// Clients that had waited, changes, and what is cached.
    private static let cache: [World] = {
        var all: [World] = []
        let bases: [(String, [World.Source], RaceRules.Mode, RaceRules.Stale?)] = [
            ("P1", [p1], .httpdnsFirst, nil), ("P1 stale", [p1], .httpdnsFirst, young),
            ("two", [p1, p2], .httpdnsFirst, nil), ("first", [p1], .localDNSFirst, nil),
        ]
        for (name, line, mode, stale) in bases {
            func set(_ world: inout World) {
                (world.mode, world.stale, world.later) = (mode, stale, [.a])
                (world.replies, world.troubles, world.localReplies) = ([.records(1)], [.fails], [.records(1), nil])
            }
            all.append(
                world("late clients, \(name)", line) {
                    set(&$0)
                    $0.hasLate = true
                })
            for change in [World.Change.network, .policy] {
                all.append(
                    world("change of \(change), \(name)", line) {
                        set(&$0)
                        $0.change = change
                    })
            }
        }
        for rank in [RaceAnswer.Rank.provider, .verified] {
            for isEnding in [false, true] {
                all.append(
                    world("cached, rank \(rank), ending \(isEnding)", [p1, p2]) {
                        $0.cached = RaceRules.Cached(rank, .records, isEnding: isEnding)
                        ($0.later, $0.replies) = ([.a], [.records(1)])
                    })
            }
        }
        return all
    }()

    private static let families: [World] = {
        let both = World.Source(provider: 0, answersBoth: true)
        var all: [World] = []
        for (name, line) in [("both families at once", [both]), ("a family at a time", [p1])] {
            for first in [[RacePart.a, .aaaa], [.a], [.aaaa]] {
                for mode in modes {
                    for isListed in mode == .httpdnsOnly ? [false] : [false, true] {
                        for isInSearchDomain in [false, true] {
                            all.append(
                                world(
                                    "\(name), \(first) first, \(mode), listed \(isListed), search \(isInSearchDomain)",
                                    line
                                ) {
                                    ($0.mode, $0.isListed, $0.isInSearchDomain) = (mode, isListed, isInSearchDomain)
                                    ($0.first, $0.later) = (first, first.count == 2 ? [] : [first[0].other])
                                    $0.times = first.count == 2 ? fewer : [0, 300, 900, 2300]
                                    $0.replies =
                                        [.records(1), .noData, .nxDomain] + (isInSearchDomain ? [] : [.empty])
                                    ($0.troubles, $0.localReplies) = ([.fails], [.records(1), .noData, nil])
                                })
                        }
                    }
                }
            }
        }
        let known: [(RaceRules.Stale?, RaceRules.Cached?, Bool)] = [
            (young, nil, false), (nil, RaceRules.Cached(.provider, .records), false), (nil, nil, true),
            (nil, RaceRules.Cached(.provider, .nxDomain), false),
        ]
        for (stale, cached, hasPreset) in known {
            for translates in [false, true] {
                all.append(
                    world(
                        "families, A known: \(stale.map { "\($0)" } ?? "") \(cached.map { "\($0)" } ?? ""), "
                            + "preset \(hasPreset), translates \(translates)", [both]
                    ) {
                        ($0.stale, $0.cached, $0.hasPreset, $0.translates) = (stale, cached, hasPreset, translates)
                        ($0.first, $0.later, $0.times) = ([.aaaa], [.a], [0, 300, 900, 2300])
                        ($0.troubles, $0.localReplies) = ([.fails], [.records(1), .noData, nil])
                    })
            }
        }
        for yielding in Oracle.parts {
            for (line, isListed) in [([both], false), ([p1], false), ([p1], true)] {
                for (mode, stale) in modes.flatMap({ mode in [nil, young].map { (mode, $0) } }) {
                    all.append(
                        world(
                            "\(yielding) is suppressed, \(line), \(mode), listed \(isListed), stale \(stale != nil)",
                            line
                        ) {
                            ($0.yielding, $0.mode, $0.stale, $0.isListed) = (yielding, mode, stale, isListed)
                            ($0.first, $0.later, $0.times) = ([yielding], [yielding.other], [0, 300, 900, 2300])
                            ($0.replies, $0.troubles) = ([.records(1), .noData], [.fails])
                            $0.localReplies = [.records(1), .noData, nil]
                        })
                }
            }
        }
        for line in [[p1], [p1, p2]] {
            for stale in [nil, young] {
                for isListed in [false, true] {
                    all.append(
                        world("search domain, \(line.count), stale \(stale != nil), listed \(isListed)", line) {
                            ($0.isInSearchDomain, $0.stale, $0.isListed) = (true, stale, isListed)
                            ($0.replies, $0.troubles) = ([.records(1), .nxDomain], [.fails])
                        })
                }
            }
        }
        let late: [(String, (inout World) -> Void)] = [
            ("", { _ in }), ("within a search domain", { $0.isInSearchDomain = true }),
            ("A is suppressed", { $0.yielding = .a }), ("AAAA of A", { $0.translates = true }),
            ("listed", { $0.isListed = true }),
        ]
        for (name, change) in late {
            all.append(
                world("late clients of both families, \(name)", [p1]) {
                    change(&$0)
                    ($0.first, $0.later, $0.times) = ([.a, .aaaa], [.a], [0, 300, 600, 900, 2200, 2300])
                    ($0.replies, $0.troubles, $0.hasLate) = ([.records(1), .nxDomain, .empty], [.fails], true)
                    $0.localReplies = [.records(1), .nxDomain, nil]
                })
        }
        all.append(
            world("two providers, A and AAAA", [p1, p2]) {
                ($0.isListed, $0.first, $0.times) = (true, [.a, .aaaa], [0, 300, 900, 2300])
                ($0.replies, $0.troubles, $0.localReplies) = ([.records(1)], [.fails], [.records(1), nil])
                $0.verdicts = [.verified, .forged]
            })
        return all
    }()
}
