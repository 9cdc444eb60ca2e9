import DNSWire
import TestSupport
import Testing

@testable import Admin

/// Which queries a client that listens is sent, and in which form.
@Suite(.onLoop)
struct QueryListenerTests {
    private static let client = IPAddress.v4(0xc000_0201)

    private func report(_ name: String) -> QueryReport {
        var report = QueryReport()
        (report.time, report.client, report.transport) = ("2026-08-01T12:34:56.789Z", "192.0.2.1", "udp")
        (report.name, report.type, report.rcode) = (name, "A", "NOERROR")
        (report.route, report.source, report.microseconds) = ("protect", "aliyun", 12_345)
        return report
    }

    private func matches(
        _ name: String? = "www.example.com", from client: IPAddress = client, _ source: String = "cache",
        _ provider: String = "", took: Duration = .milliseconds(5), _ change: (inout QueryFilter) -> Void
    ) throws -> Bool {
        var filter = QueryFilter()
        change(&filter)
        return filter.matches(try name.map { try Name($0) }, from: client, source, provider, took: took)
    }

    @Test func `without a filter every query is wanted, also one that could not be parsed`() throws {
        #expect(try matches { _ in } && matches(nil) { _ in })
    }

    @Test func `a suffix is a name and all below it, in whatever case they are asked`() throws {
        let suffix = try Name("example.com")
        #expect(try matches { $0.suffix = suffix })
        #expect(try matches("EXAMPLE.com") { $0.suffix = suffix })
        #expect(try !matches("notexample.com") { $0.suffix = suffix } && !matches("com") { $0.suffix = suffix })
        #expect(try !matches(nil) { $0.suffix = suffix })
    }

    @Test func `a client is an address, or one of a network`() throws {
        #expect(try matches { $0.network = AddressPrefix("192.0.2.1") })
        #expect(try matches { $0.network = AddressPrefix("192.0.2.0/24") })
        #expect(try !matches { $0.network = AddressPrefix("192.0.2.2") })
        #expect(try !matches { $0.network = AddressPrefix("2001:db8::/32") })
        #expect(try matches(from: .v6(1)) { $0.network = AddressPrefix("::1") })
    }

    @Test func `a source is meant by its word, or by its provider's whole name`() throws {
        #expect(try matches { $0.source = "cache" } && !matches { $0.source = "stale" })
        #expect(try matches(nil, "shared", "aliyun") { $0.source = "aliyun" })
        #expect(try !matches(nil, "shared", "aliyun-2") { $0.source = "aliyun" })
    }

    @Test func `slower is more than the time, not the time itself`() throws {
        #expect(try matches { $0.slower = .milliseconds(4) } && !matches { $0.slower = .milliseconds(5) })
    }

    @Test func `all parts of a filter must hold`() throws {
        #expect(
            try !matches {
                $0.network = AddressPrefix("192.0.2.1")
                $0.source = "stale"
            })
    }

    @Test func `the line for people is that of the log of queries, behind the time`() {
        #expect(
            report("www.example.com").text
                == "2026-08-01T12:34:56.789Z 192.0.2.1 udp www.example.com A NOERROR protect 12.345 ms aliyun")
        #expect(QueryReport(dropped: 7).text == "(7 queries are missing: they came faster than they were read)")
    }

    @Test(arguments: [ReportForm.text, .objects])
    func `a query is one line, and the last one says in words and in JSON why the list ends`(form: ReportForm) {
        for report in [report("a\u{1b}\nb.example"), QueryReport(dropped: 7), QueryReport(ended: "x")] {
            let line = report.line(form)
            #expect(line.firstIndex(of: "\n") == line.indices.last && !line.contains("\u{1b}"))
            #expect(QueryReport.reasonOfEnd(in: String(line.dropLast())) == (report.ended.isEmpty ? nil : "x"))
        }
        #expect(QueryReport(dropped: 7).json == "{\"dropped\":7}")
    }

    private let clock = ManualClock()

    @Test @Loop func `each listener is sent what it wants, made once for all`() throws {
        let listeners = QueryListeners(clock: clock)
        var filter = QueryFilter()
        filter.source = "stale"
        var text = QueryFilter()
        text.form = .text
        let (all, other) = (try #require(listeners.add(QueryFilter())), try #require(listeners.add(text)))
        let none = try #require(listeners.add(filter))
        var made = 0
        listeners.add(nil, from: Self.client, source: "cache", "", took: .zero) {
            made += 1
            return report("www.example.com")
        }
        #expect(made == 1)
        #expect(all.take() == report("www.example.com").json + "\n" && all.take() == "")
        #expect(other.take() == report("www.example.com").text + "\n" && none.take() == "")
    }

    @Test @Loop func `a listener that does not read loses queries, and learns how many and where`() throws {
        let listeners = QueryListeners(clock: clock)
        let listener = try #require(listeners.add(QueryFilter()))
        let line = report("www.example.com").json
        let room = QueryListener.limit / (line.utf8.count + 1) + 1
        var made = 0
        for _ in 0..<(room + 500) {
            listeners.add(nil, from: Self.client, source: "cache", "", took: .zero) {
                made += 1
                return report("www.example.com")
            }
        }
        #expect(made == room, "what is left out costs nothing")
        listeners.missed(3)
        let lines = try #require(listener.take()).split(separator: "\n")
        #expect(lines.count == room + 1 && lines.last == "{\"dropped\":503}")
        listeners.add(nil, from: Self.client, source: "cache", "", took: .zero) { report("www.example.com") }
        #expect(listener.take() == line + "\n")
    }

    /// A query of which everything wants a line.
    @Loop
    private func query(_ listeners: QueryListeners) {
        listeners.add(nil, from: Self.client, source: "cache", "", took: .zero) { report("www.example.com") }
    }

    @Test @Loop
    func `a listener that reads nothing for 10 s while queries are left out learns that it has gone`() async throws {
        let listeners = QueryListeners(clock: clock)
        let paused = try (0..<QueryListeners.limit).map { _ in try #require(listeners.add(QueryFilter())) }
        query(listeners)
        listeners.missed(5)
        await clock.advance(by: QueryListener.patience - .milliseconds(1))
        #expect(listeners.add(QueryFilter()) == nil)
        await clock.advance(by: .milliseconds(1))
        let next = try #require(listeners.add(QueryFilter()))
        query(listeners)
        let ended = "{\"ended\":\"nothing was read for 10 s\"}\n"
        for listener in paused {
            #expect(listener.take() == report("www.example.com").json + "\n{\"dropped\":5}\n" + ended)
            #expect(listener.take() == nil)
        }
        #expect(next.take() == report("www.example.com").json + "\n")
        #expect(QueryReport(ended: "x").text == "(the server ends this list: x)")
    }

    @Test @Loop func `a listener that reads slowly, or to which nothing comes, keeps listening`() async throws {
        let listeners = QueryListeners(clock: clock)
        let (slow, quiet) = (try #require(listeners.add(QueryFilter())), try #require(listeners.add(QueryFilter())))
        for _ in 0..<5 {
            listeners.missed(1)
            await clock.advance(by: QueryListener.patience / 2)
            slow.wasRead()
            #expect(quiet.take() == "{\"dropped\":1}\n")
        }
        #expect(slow.take() == "{\"dropped\":5}\n")
        await clock.advance(by: QueryListener.patience * 10)
        query(listeners)
        #expect(slow.take() == report("www.example.com").json + "\n" && quiet.take() != nil)
    }

    @Test @Loop func `a listener that nothing refers to is one no more`() throws {
        let listeners = QueryListeners(clock: clock)
        var listener = listeners.add(QueryFilter())
        #expect(listener != nil && !listeners.isEmpty)
        listener = nil
        #expect(listeners.isEmpty)
    }
}
