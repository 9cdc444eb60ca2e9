import Admin
import Configuration
import DNSWire
import Foundation
import Platform
import TestSupport
import Testing

@testable import httpdnsd

struct PortCheckTests {
    private static let head =
        "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    /// 127.0.0.1:53 over UDP, inode 4711; and a client's socket.
    private static let udp =
        head + """
              12: 0100007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000   101        0 4711 2 0 0
              13: 0100007F:0035 0100007F:D431 01 00000000:00000000 00:00000000 00000000   101        0 4712 2 0 0

            """

    private func patient(_ name: String?, isSilent: Bool, status: StatusReport? = nil) throws -> Patient {
        var patient = try Patient(["proc/net/udp": Self.udp], status: status)
        if let name { try patient.hold(pid: 77, name: name, inode: 4_711) }
        if isSilent { patient.silence() }
        return patient
    }

    @Test(arguments: ["dnsmasq", "systemd-resolve"], [true, false])
    func `another program on the port is named, also when it answers`(name: String, isSilent: Bool) throws {
        let patient = try patient(name, isSilent: isSilent)
        let findings = try #require(Check.port.findings(patient.examination))
        #expect(findings.map(\.key) == ["port.held"])
        #expect(findings.first?.sentence.contains("127.0.0.1:53 is held by \(name) (process 77)") == true)
    }

    @Test(
        arguments: [
            ("httpdnsd", false, []), ("httpdnsd", true, ["server.silent"]), ("systemd", true, ["server.stopped"]),
            // A port whose holder this user may not see is not taken for a free one.
            (nil, false, []), (nil, true, ["port.unknown"]),
        ] as [(String?, Bool, [String])])
    func `a server that answers is well, and of one that does not the holder of its port says why`(
        holder: String?, isSilent: Bool, found: [String]
    ) throws {
        #expect(try patient(holder, isSilent: isSilent).keys(.port) == found)
    }

    @Test func `another server of ours on the port is not taken for the one of the configuration`() throws {
        var status = StatusReport()
        status.pid = 78
        let patient = try patient("httpdnsd", isSilent: false, status: status)
        try patient.hold(pid: 78, name: "httpdnsd", inode: 1)
        #expect(patient.keys(.port) == ["port.second"])
    }

    @Test func `a port that nothing holds means that the server does not run`() throws {
        var patient = try Patient()
        patient.silence()
        #expect(patient.keys(.port) == ["server.stopped"])
    }

    @Test func `an address that no interface has is found`() throws {
        let text = Patient.configuration.replacing("\"127.0.0.1:53\"", with: "\"127.0.0.1:53\", \"192.0.2.77:53\"")
        #expect(try Patient([:], text).keys(.port) == ["listen.absent"])
    }

    @Test func `sockets of IPv6 are read, and its wildcard holds IPv4 too`() throws {
        let line = """
               1: 00000000000000000000000000000000:0035 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1

            """
        let patient = try Patient(["proc/net/tcp6": Self.head + line])
        try patient.hold(pid: 77, name: "named", inode: 4_711)
        let holders = PortHolders(patient.examination.files)
        for address in ["127.0.0.1:53", "[::1]:53"] {
            let address = try #require(AddressAndPort(address))
            #expect(holders.holders(of: address).map { $0?.name } == ["named"])
        }
        #expect(try holders.holders(of: #require(AddressAndPort("127.0.0.1:5353"))).isEmpty)
    }

    @Test func `a control socket that is silent is found while the server answers, and not while it does not`() throws {
        var patient = try patient("httpdnsd", isSilent: false)
        #expect(patient.keys(.control) == ["control.silent"])
        patient.silence()
        #expect(patient.keys(.control) == nil)
    }

    @Test func `a server started at a terminal that keeps the service from its port is named`() throws {
        let patient = try patient("httpdnsd", isSilent: false)
        try FileManager.default.createDirectory(
            atPath: patient.directory.path + "/run/systemd/system", withIntermediateDirectories: true)
        for (group, key) in [
            ("0::/user.slice\n", "port.second"), ("0::/system.slice/httpdnsd.service\n", "control.silent"),
        ] {
            try patient.directory.write(group, to: "proc/77/cgroup")
            #expect(patient.keys(.control) == [key])
        }
    }

    @Test func `a port of the file alone is not missed where the server says that it listens elsewhere`() throws {
        var status = StatusReport()
        for (listen, found) in [(["127.0.0.1:5454"], ["127.0.0.1:5454"]), ([], ["127.0.0.1:53"])] {
            status.listen = listen
            var patient = try Patient(status: status)
            patient.silence()
            let findings = try #require(Check.port.findings(patient.examination))
            #expect(findings.map(\.sentence) == found.map { "nothing listens on \($0)" })
        }
    }

    @Test func `a remedy names the configuration that doctor was given`() throws {
        let patient = try Patient()
        #expect(patient.examination.command("check") == "`httpdnsd check --config \(patient.examination.file)`")
        #expect(Examination.command("check", of: ConfigurationFile.defaultPath) == "`httpdnsd check`")
    }

    /// What is found where the server that runs says this of its file.
    private func reload(_ errors: [String], restartMends: Bool = false, last: [String] = []) throws -> [String]? {
        var (status, report) = (StatusReport(), ReloadReport())
        status.reloadErrors = last
        (report.errors, report.isMendedByRestart) = (errors, restartMends)
        var patient = try Patient(status: status)
        patient.examination.reload = Testimony(rows: report.rows)
        return patient.keys(.reload)
    }

    @Test func `a file that the server cannot take is found before a restart fails at it`() throws {
        #expect(try reload([]) == [])
        #expect(try reload(["a.toml: cannot be read"]) == ["start.refused"])
        #expect(try reload(["a.toml: needs a variable"], restartMends: true) == ["reload.refused"])
        #expect(try reload([], last: ["a.toml: a mistake"]) == ["reload.refused"])
        #expect(try Patient(status: StatusReport()).keys(.reload) == nil)
    }

    @Test func `a control socket that is not there is no question of rights`() throws {
        let patient = try patient("httpdnsd", isSilent: false)
        let socket = patient.examination.settings.control.socket
        let remedy = try #require(Check.control.findings(patient.examination)?.first).remedy
        #expect(remedy.hasPrefix("`systemctl restart httpdnsd` makes it again"), "\(remedy)")
        let other = try Patient(["proc/net/udp": Self.udp, String(socket.dropFirst()): ""])
        #expect(Check.control.findings(other.examination)?.first?.remedy.hasPrefix("run this as root") == true)
    }

    @Test(arguments: ["tls", "https", "httpdns"])
    func `another program on an encrypted port is named`(key: String) throws {
        let files = key == "httpdns" ? "" : "certificate = \"/nowhere/server.pem\"\nkey = \"/nowhere/server.key\"\n"
        // 127.0.0.1:8443 over TCP.
        let tcp =
            Self.head + """
                   1: 0100007F:20FB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1

                """
        let configuration = Patient.configuration.replacing(
            "[listen]\n", with: "[listen]\n\(key) = [\"127.0.0.1:8443\"]\n\(files)")
        for (name, found) in [("nginx", ["port.held"]), ("httpdnsd", [])] {
            let patient = try Patient(["proc/net/tcp": tcp], configuration)
            try patient.hold(pid: 77, name: name, inode: 4_713)
            #expect(patient.keys(.port) == found)
        }
        // HTTP/3, which keeps nothing from listening.
        let patient = try Patient(["proc/net/udp": tcp.replacing(" 0A ", with: " 07 ")], configuration)
        try patient.hold(pid: 77, name: "nginx", inode: 4_713)
        #expect(patient.keys(.port) == [])
    }
}
