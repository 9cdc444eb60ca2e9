import TestServers

extension ComplianceCase {
    private static let nsid = EDNS.Option(3)
    private static let subnet = EDNS.Option(8, [0, 1, 0, 0])
    private static let expire = EDNS.Option(9)
    private static let cookie = EDNS.Option(10, [1, 2, 3, 4, 5, 6, 7, 8])
    /// Assigned to nothing.
    private static let unknown = EDNS.Option(100)
    private static let dnssecOK: UInt16 = 0x8000

    /// An OPT record of a client that takes 4,096 bytes.
    private static func opt(_ options: EDNS.Option..., version: UInt8 = 0, flags: UInt16 = 0) -> EDNS {
        EDNS(size: 4_096, version: version, flags: flags, options: options)
    }

    private static func soa(
        _ name: String, _ sentence: String, _ rule: String, _ flags: Flags = [], _ edns: EDNS? = nil,
        over transport: BulkClient.Transport = .udp, gives demand: Demand = .records
    ) -> ComplianceCase {
        .init(name, sentence, rule, flags, ComplianceZone.name, RecordType.soa, edns, over: transport, gives: demand)
    }

    private static func dnskey(
        _ name: String, _ sentence: String, _ rule: String, over transport: BulkClient.Transport, gives demand: Demand
    ) -> ComplianceCase {
        let edns = EDNS(size: 512, flags: dnssecOK)
        return .init(
            name, sentence, rule, [], ComplianceZone.name, RecordType.dnskey, edns, over: transport, gives: demand)
    }

    /// Those of the groups EDNS, FULL and COMMON.
    static let all: [ComplianceCase] = [
        // Without EDNS.
        soa("dns", "a query without OPT gets a response without OPT", "RFC 6891 section 7"),
        soa("aa", "AA means nothing in a query and is not copied", "RFC 1035 section 4.1.1", .aa),
        soa("ad", "AD is not copied from a query that asks for it", "RFC 6840 sections 5.7 and 5.8", .ad),
        soa("cd", "CD is copied", "RFC 4035 section 3.1.6", .cd),
        soa("ra", "RA means nothing in a query", "RFC 1035 section 4.1.1", .ra),
        soa("rd", "RD is copied", "RFC 1035 section 4.1.1", .rd),
        soa("tc", "TC means nothing in a query and is not copied", "RFC 1035 section 4.1.1", .tc),
        soa("zflag", "the reserved flag is not copied", "RFC 8906 section 8.1.3.3", .z),
        .init("opcode", "an unknown opcode gets NOTIMP", "RFC 8906 section 8.1.4", opcode: 15, gives: .header),
        .init(
            "opcodeflg", "no flag is copied when the opcode is unknown", "RFC 8906 section 8.1.4", opcode: 15, .all,
            gives: .header),
        .init(
            "type666", "an unknown type is a type like others", "RFC 8906 section 8.1.2", [], ComplianceZone.name, 666,
            gives: .noRecords),
        soa("tcp", "TCP gives what UDP gives", "RFC 7766 section 5", over: .tcp),

        // With EDNS.
        soa("edns", "OPT answers OPT", "RFC 6891 section 6.1.1", [], opt()),
        soa("edns1", "version 1 gets BADVERS", "RFC 6891 section 6.1.3", [], opt(version: 1), gives: .badVersion),
        dnskey(
            "edns@512", "what is over the client's size is truncated", "RFC 6891 section 6.2.3", over: .udp,
            gives: .truncation),
        soa("ednsopt", "an unknown option is ignored and not echoed", "RFC 6891 section 6.1.2", [], opt(unknown)),
        soa(
            "edns1opt", "with an unknown option too version 1 gets BADVERS", "RFC 8906 section 8.2.6", [],
            opt(unknown, version: 1), gives: .badVersion),
        soa("do", "DO is copied, and signatures are given", "RFC 3225 section 3", [], opt(flags: dnssecOK)),
        soa("docd", "CD and DO are copied", "RFC 4035 sections 3.1.6 and 3.2.1", .cd, opt(flags: dnssecOK)),
        soa(
            "edns1do", "with DO too version 1 gets BADVERS", "RFC 8906 section 8.2.9", [],
            opt(version: 1, flags: dnssecOK), gives: .badVersion),
        soa("ednsflags", "an unknown flag of EDNS is not copied", "RFC 6891 section 6.1.4", [], opt(flags: 0x0080)),
        soa(
            "optlist", "NSID, client subnet, EXPIRE and COOKIE together do no harm", "RFC 8906 section 8.2.10", [],
            opt(nsid, subnet, expire, cookie)),
        soa("ednsnsid", "NSID (RFC 5001) is ignored", "RFC 6891 section 6.1.2", [], opt(nsid)),
        soa("ednscookie", "COOKIE has the server's in the response", "RFC 7873 section 5.2", [], opt(cookie)),
        soa("ednsexpire", "EXPIRE (RFC 7314) is ignored", "RFC 6891 section 6.1.2", [], opt(expire)),
        soa("ednssubnet", "a client subnet (RFC 7871) is ignored", "RFC 6891 section 6.1.2", [], opt(subnet)),
        soa(
            "edns1nsid", "with NSID too version 1 gets BADVERS", "RFC 6891 section 6.1.3", [],
            opt(nsid, version: 1), gives: .badVersion),
        soa(
            "edns1cookie", "with COOKIE too version 1 gets BADVERS", "RFC 6891 section 6.1.3", [],
            opt(cookie, version: 1), gives: .badVersion),
        soa(
            "edns1expire", "with EXPIRE too version 1 gets BADVERS", "RFC 6891 section 6.1.3", [],
            opt(expire, version: 1), gives: .badVersion),
        soa(
            "edns1subnet", "with a client subnet too version 1 gets BADVERS", "RFC 6891 section 6.1.3", [],
            opt(subnet, version: 1), gives: .badVersion),
        dnskey(
            "ednstcp", "over TCP the client's size for UDP is no limit", "RFC 6891 section 6.2.3", over: .tcp,
            gives: .records),

        // As common programs ask.
        soa("bind11", "COOKIE and DO, as BIND 9.11 asks", "RFC 3225 section 3", [], opt(cookie, flags: dnssecOK)),
        soa("dig11", "COOKIE, RD and AD, as dig of BIND 9.11 asks", "RFC 6840 section 5.7", [.rd, .ad], opt(cookie)),
    ]
}
