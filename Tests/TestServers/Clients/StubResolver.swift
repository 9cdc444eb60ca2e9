import TestSupport

/// What programs look names up with: the resolvers of C libraries, of languages and of tools, and forwarding servers that are
/// asked by `dig`.
package enum StubResolver: String, CaseIterable, Sendable {
    case glibc, musl, python, perl
    /// Node through the C library, and through c-ares.
    case nodeLookup, nodeResolve
    case dig, kdig, drill
    case dnsmasq, unbound
    /// Go's own resolver, and Go through the C library.
    case go, goThroughC
    /// Java through the C library, and Java's own resolver.
    case java, javaNaming
    /// Ruby's own resolver, and Perl's Net::DNS.
    case ruby, netDNS

    /// One way to ask.
    package struct Way: Sendable {
        /// More lines of its `resolv.conf`.
        package var resolvConf = ""
        /// Options of its command; of a forwarding server: of the server.
        package var options: [String] = []
        /// Whether it asks for IPv4 addresses only.
        package var asksForIPv4Only = false
    }

    /// How it reports that a name has no addresses, and that it does not exist.
    package var errors: (noData: String, noName: String) {
        switch self {
        case .glibc, .python, .perl: ("EAI_NODATA", "EAI_NONAME")
        case .musl: ("EAI_NONAME", "EAI_NONAME")
        case .nodeLookup: ("ENOTFOUND", "ENOTFOUND")
        case .nodeResolve: ("ENODATA", "ENOTFOUND")
        case .dig, .kdig, .drill, .dnsmasq, .unbound: ("NOERROR", "NXDOMAIN")
        case .go: ("no-such-host", "no-such-host")
        case .goThroughC: ("No-address-associated-with-hostname", "no-such-host")
        case .java: ("UnknownHostException", "UnknownHostException")
        case .javaNaming: ("empty", "NameNotFoundException")
        case .ruby: ("nothing", "nothing")
        case .netDNS: ("NOERROR", "NXDOMAIN")
        }
    }

    /// Whether it takes what one datagram of 512 bytes has: musl before 1.2.4, and at most 48 addresses later on.
    package var mayTakePart: Bool { self == .musl }

    /// The ways in which its traffic differs.
    package var ways: [Way] {
        let common = ["", "options timeout:1 attempts:2", "search corp.example\noptions ndots:5"]
        return switch self {
        case .glibc:
            Self.lists(
                common + [
                    "options edns0", "options use-vc", "options trust-ad", "options single-request",
                    "options single-request-reopen", "nameserver ::1\noptions rotate",
                    "options edns0 use-vc trust-ad rotate",
                ]) + [Way(resolvConf: "options no-aaaa\n", asksForIPv4Only: true)]
        case .go:
            Self.lists(
                common + [
                    "options use-vc", "options trust-ad", "options single-request", "nameserver ::1\noptions rotate",
                ])
        case .nodeResolve: Self.lists(common + ["nameserver ::1\noptions rotate", "options edns0", "options use-vc"])
        case .musl, .python, .perl, .nodeLookup, .goThroughC, .java, .ruby: Self.lists(common)
        case .javaNaming: Self.lists([""])
        case .dig:
            Self.commands([
                [], ["+noedns"], ["+nocookie", "+bufsize=512"], ["+nocookie", "+bufsize=4096"], ["+dnssec"], ["+tcp"],
                ["+tcp", "+keepopen"],
            ])
        case .netDNS: Self.commands([[], ["udppacketsize=512"], ["udppacketsize=4096"], ["dnssec=1"], ["usevc=1"]])
        case .kdig: Self.commands([[], ["+edns", "+bufsize=512"], ["+edns", "+bufsize=4096"], ["+tcp"]])
        case .drill:
            // Only with -a it asks over TCP for what is truncated.
            Self.commands([["-a"], ["-a", "-b", "512"], ["-a", "-b", "4096"], ["-a", "-D"], ["-t"]])
        case .dnsmasq:
            Self.commands([[], ["--edns-packet-max=512"], ["--edns-packet-max=4096"], ["--cache-size=0"]])
        case .unbound:
            Self.commands([
                [], ["edns-buffer-size: 512"], ["edns-buffer-size: 4096"], ["tcp-upstream: yes"],
                ["use-caps-for-id: yes"],
            ])
        }
    }

    /// Looks names up, as a row for each: see `Tests/Clients`.
    ///
    /// - Parameter way: one of `ways`; the lines of its `resolv.conf` come behind `ClientHost.resolvConf`.
    package func rows(_ names: [String], _ way: Way, on host: ClientHost) throws -> [StubRow] {
        let server = try forwardingServer(way, on: host)
        let outcome = try withExtendedLifetime(server) {
            try host.run(
                command(way.options, server) + names, resolvConf: ClientHost.resolvConf + way.resolvConf,
                environment: self == .go || self == .goThroughC
                    ? ["GODEBUG": "netdns=" + (self == .go ? "go" : "cgo")] : [:],
                within: .patience * 4)
        }
        guard outcome.status == 0 else { throw TestFailure("\(self): status \(outcome.status): \(outcome.errors)") }
        return try outcome.lines.map(StubRow.init)
    }

    private func forwardingServer(_ way: Way, on host: ClientHost) throws -> ResolverProgram? {
        switch self {
        case .dnsmasq: try .dnsmasq(on: host, options: way.options)
        case .unbound: try .unbound(on: host, options: way.options.joined(separator: "\n"))
        default: nil
        }
    }

    private func command(_ options: [String], _ server: ResolverProgram?) throws -> [String] {
        func tool(_ words: [String]) -> [String] { ["sh", ClientProgram.source("lookup.sh")] + words + ["--"] }
        return switch self {
        case .glibc: [try CLibrary.glibc.lookup(), "-r"]
        case .musl: [try CLibrary.musl.lookup(), "-r"]
        case .python: ["python3", ClientProgram.source("lookup.py")]
        case .perl: ["perl", ClientProgram.source("lookup.pl")]
        case .netDNS: ["perl", ClientProgram.source("netdns.pl")] + options + ["--"]
        case .ruby: ["ruby", ClientProgram.source("lookup.rb")]
        case .nodeLookup: ["node", ClientProgram.source("lookup.js"), "lookup"]
        case .nodeResolve: ["node", ClientProgram.source("lookup.js"), "resolve"]
        case .dig: tool(["dig", "-r"] + options)
        case .kdig, .drill: tool([rawValue] + options)
        case .dnsmasq, .unbound:
            tool(["dig", "-r", "@" + (server?.address.host ?? ""), "-p", "\(server?.address.port ?? 0)"])
        case .go, .goThroughC:
            [try ClientProgram.compiled("lookup-go") { ["go", "build", "-o", $0, ClientProgram.source("lookup.go")] }]
        case .java, .javaNaming:
            [
                "java", "-cp",
                try ClientProgram.compiled("java") { ["javac", "-d", $0, ClientProgram.source("Lookup.java")] },
                "Lookup", self == .java ? "inet" : "jndi",
            ]
        }
    }

    private static func lists(_ lines: [String]) -> [Way] { lines.map { Way(resolvConf: $0.isEmpty ? "" : $0 + "\n") } }

    private static func commands(_ options: [[String]]) -> [Way] { options.map { Way(options: $0) } }
}
