import DNSResolver
import DNSWire
import Platform
import TestSupport
import Testing

@testable import Upstreams

/// Groups of servers that know different names, as those of a VPN and of the network around it do.
@Suite(.onLoop) struct LocalDNSGroupTests {
    private let clock = ManualClock()
    private static let denied: UInt16 = 0x8183
    private static let failed: UInt16 = 0x8182
    private static let refused: UInt16 = 0x8185

    @Loop private func grouped(_ groups: [[LocalDNSRawServer]]) -> LocalDNS {
        LocalDNS(
            groups: groups.map { $0.map { LocalDNSServer(.v4(0x7f00_0001), port: $0.port) } },
            loop: LoopRunner.shared.loop, clock: clock)
    }

    @Loop private func server(_ flags: UInt16) throws -> LocalDNSRawServer {
        try LocalDNSRawServer { [$0.reply(flags: flags)] }
    }

    @Loop private func goodServer() throws -> LocalDNSRawServer {
        try LocalDNSRawServer { [$0.good] }
    }

    private func isDenial(_ reply: UpstreamReply) -> Bool {
        if case .answer(let answer)? = reply.results[.a] { answer.responseCode == .nameError } else { false }
    }

    /// Servers of groups by letters: one denies the name, fails, refuses, knows it, or knows no such records.
    @Test(arguments: [
        // The first denial of a group is final for the group.
        ("DG", "NXDOMAIN", [1, 0]), ("DG|G", "192.0.2.1", [1, 0, 1]), ("D|D|D", "NXDOMAIN", [1, 1, 1]),
        ("E|G", "NODATA", [1, 0]),
        // While one group fails a denial of the other is not believed; one that refuses has nothing against it.
        ("F|D", "SERVFAIL", [1, 1]), ("D|F", "SERVFAIL", [1, 1]), ("FF|G", "192.0.2.1", [1, 1, 1]),
        ("R|D", "NXDOMAIN", [1, 1]), ("D|R", "NXDOMAIN", [1, 1]),
    ]) @Loop
    func `what several groups say of a name`(groups: String, said: String, queries: [Int]) async throws {
        let servers = try groups.split(separator: "|").map { group in
            try group.map { letter in
                switch letter {
                case "D": try server(Self.denied)
                case "F": try server(Self.failed)
                case "R": try server(Self.refused)
                case "E": try server(0x8180)
                default: try goodServer()
                }
            }
        }
        let localDNS = grouped(servers)
        let reply = await localDNS.ask(try question("a.example"))
        switch reply.results[.a] {
        case .answer(let answer) where answer.responseCode == .nameError: #expect(said == "NXDOMAIN")
        case .answer where addresses(reply).isEmpty: #expect(said == "NODATA")
        case .answer: #expect(addresses(reply) == [said] && reply.server == localDNS.groups.last?[0].description)
        case let result: #expect(said == "SERVFAIL" && result == .failure(.responseCode(.serverFailure)))
        }
        #expect(servers.joined().map(\.queries.count) == queries)
    }

    @Test(arguments: [false, true]) @Loop
    func `a group of which one server refuses has denied nothing while another is asked`(isFirst: Bool) async throws {
        let (refusing, slow, denying) = (try server(Self.refused), try LocalDNSRawServer(), try server(Self.denied))
        let localDNS = grouped([isFirst ? [refusing, slow] : [slow, refusing], [denying]])
        let asked = try question("vpn.example")
        async let reply = localDNS.ask(asked)
        await slow.received(1)
        await clock.advance(by: .milliseconds(400))
        // The group's other server is refused, or the other group denies the name.
        await denying.received(1)
        await repliesArrive(on: clock)
        slow.send(slow.questions[0].good, to: slow.questions[0])
        #expect(addresses(await reply) == ["192.0.2.1"])
    }

    @Test @Loop func `a silent group delays the next by its share, and may answer until the deadline`() async throws {
        let (silent, denying) = (try LocalDNSRawServer(), try server(Self.denied))
        let localDNS = grouped([[silent], [denying]])
        let asked = try question("vpn.example")
        async let reply = localDNS.ask(asked)
        await silent.received(1)
        #expect(denying.queries.isEmpty)
        await clock.advance(by: .milliseconds(400))
        await denying.received(1)
        silent.answer = { [$0.good] }
        // Asked again, as the denial is not enough.
        await clock.advance(by: .milliseconds(400))
        #expect(addresses(await reply) == ["192.0.2.1"])
    }

    @Test @Loop func `silence of one group for a name is no denial while it answers the probe`() async throws {
        let silent = try LocalDNSRawServer { $0.isProbe ? [$0.reply()] : [] }
        let denying = try server(Self.denied)
        let localDNS = grouped([[silent], [denying]])
        let asked = try question("vpn.example")
        async let reply = localDNS.ask(asked)
        await silent.received(1)
        await clock.advance(by: .milliseconds(400))
        await denying.received(1)
        await repliesArrive(on: clock)
        await clock.advance(by: .milliseconds(400))
        await silent.received(3)
        await clock.advance(by: .milliseconds(700))
        #expect(await reply.results[.a] == .failure(.timeout))
    }

    @Test @Loop func `a group that stays away, as a VPN that is down, holds up no denial`() async throws {
        let (silent, denying) = (try LocalDNSRawServer(), try server(Self.denied))
        let localDNS = grouped([[silent], [denying]])
        let asked = try question("none.example")
        // The probe begins at 0.4 s and fails at 1.4 s.
        #expect(isDenial(await ask(asked, of: localDNS)))
        let count = silent.queries.count
        #expect(isDenial(await localDNS.ask(asked)))
        #expect(silent.queries.count == count)
    }

    /// Asks, and returns the reply once 1.5 s have passed, and what the silence of a server causes.
    @Loop private func ask(_ asked: UpstreamQuestion, of localDNS: LocalDNS) async -> UpstreamReply {
        let reply = Task { @Loop in await localDNS.ask(asked) }
        for _ in 0..<15 {
            await repliesArrive(on: clock)
            await clock.advance(by: .milliseconds(100))
        }
        await repliesArrive(on: clock)
        return await reply.value
    }

    /// Asks for two names to which no server replies, one after the other.
    @Loop private func askSlowNames(of localDNS: LocalDNS) async throws {
        for number in 0..<2 {
            _ = await ask(try question("slow\(number).example", from: "192.0.2.66"), of: localDNS)
        }
    }

    /// With so many of the slow names answered before; a group that drops probes has answered another name as well.
    @Test(arguments: [(false, 0), (true, 0), (true, 40)]) @Loop
    func `B22: names that one group is slow with take no other name from it, though it drops probes`(
        dropsProbes: Bool, answered: Int
    ) async throws {
        let vpn = try LocalDNSRawServer { dropsProbes && $0.isProbe ? [] : [$0.good] }
        let denying = try server(Self.denied)
        let localDNS = grouped([[vpn], [denying]])
        for number in 0..<answered {
            _ = await localDNS.ask(try question("slow\(number).example", from: "192.0.2.66"))
            if number == answered / 2 { _ = await localDNS.ask(try question("vpn.example")) }
        }
        if dropsProbes, answered == 0 { _ = await localDNS.ask(try question("vpn.example")) }
        vpn.answer = { $0.isSlow || dropsProbes && $0.isProbe ? [] : [$0.good] }
        try await askSlowNames(of: localDNS)
        #expect(localDNS.backoffEnd(localDNS.servers[0]) == nil)
        #expect(addresses(await localDNS.ask(try question("other.example"))) == ["192.0.2.1"])
    }

    @Test @Loop func `a group that falls silent after it answered names holds up no denial`() async throws {
        let vpn = try LocalDNSRawServer { $0.isProbe ? [] : [$0.good] }
        let denying = try server(Self.denied)
        let localDNS = grouped([[vpn], [denying]])
        for number in 0..<10 { _ = await localDNS.ask(try question("vpn\(number).example")) }
        vpn.answer = { _ in [] }
        let asked = try question("none.example")
        #expect(isDenial(await ask(asked, of: localDNS)))
        #expect(isDenial(await localDNS.ask(asked)))
    }

    @Test @Loop func `a group that drops probes and comes back is used again once it answers a question`() async throws
    {
        let vpn = try LocalDNSRawServer()
        let denying = try server(Self.denied)
        let localDNS = grouped([[vpn], [denying]])
        let asked = try question("vpn.example")
        #expect(isDenial(await ask(asked, of: localDNS)))
        vpn.answer = { $0.isProbe ? [] : [$0.good] }
        await clock.advance(by: .seconds(1))
        _ = await localDNS.ask(asked)
        // The probe's head start.
        await clock.advance(by: .milliseconds(500))
        await repliesArrive(on: clock)
        #expect(addresses(await localDNS.ask(asked)) == ["192.0.2.1"])
    }

    @Test(arguments: [false, true]) @Loop
    func `only a server that drops probes is probed with names that it answered, and with a few`(isDropping: Bool)
        async throws
    {
        let server = try LocalDNSRawServer {
            $0.isSlow || isDropping && $0.isProbe ? [] : [$0.good]
        }
        let localDNS = grouped([[server]])
        for number in 0..<100 { _ = await localDNS.ask(try question("\(number).example")) }
        let before = server.queries.count
        _ = await ask(try question("slow.example"), of: localDNS)
        let names = server.queries.dropFirst(before).filter { !$0.isSlow && !$0.isProbe }
        #expect(names.count == (isDropping ? ProbeQuestions.limit : 0))
    }

    @Test @Loop func `a group that cannot be reached holds up no denial`() async throws {
        let denying = try server(Self.denied)
        let away = LocalDNSServer(.v4(0xc000_0201))
        let paths = NetworkPaths(route: { .init(interface: $0 == away.address ? 7 : 1) })
        paths.update(deadLinks: [7])
        let localDNS = LocalDNS(
            groups: [[away], [LocalDNSServer(.v4(0x7f00_0001), port: denying.port)]], paths: paths,
            loop: LoopRunner.shared.loop, clock: clock)
        #expect(isDenial(await localDNS.ask(try question("none.example"))))
    }

    @Test @Loop func `a server is in one group only, and empty groups are none`() {
        let server = LocalDNSServer(.v4(1))
        let localDNS = LocalDNS(
            groups: [[], [server, server], [server], [LocalDNSServer(.v4(2))]], loop: LoopRunner.shared.loop)
        #expect(localDNS.groups == [[server], [LocalDNSServer(.v4(2))]])
        #expect(localDNS.group(of: LocalDNSServer(.v4(2))) == 1)
        #expect(localDNS.group(of: LocalDNSServer(.v4(3))) == nil)
    }
}
