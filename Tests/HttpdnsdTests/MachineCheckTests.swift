import Admin
import Testing

@testable import httpdnsd

struct MachineCheckTests {
    private static var status: StatusReport {
        var status = StatusReport()
        status.pid = 77
        return status
    }

    @Test(arguments: [("256", ["limits.files"]), ("65536", []), ("unlimited", [])])
    func `a limit of open files that is too low is found`(limit: String, found: [String]) throws {
        let text =
            "Limit                     Soft Limit           Hard Limit           Units\n"
            + "Max open files            \(limit)                 524288               files\n"
        #expect(
            try Patient(["proc/77/limits": text, "proc/77/comm": "httpdnsd\n"], status: Self.status).keys(.descriptors)
                == found)
    }

    @Test func `limits that cannot be read are not claimed to be too low`() throws {
        #expect(try Patient(status: Self.status).keys(.descriptors) == nil)
        #expect(try Patient().keys(.memory) == nil)
    }

    @Test func `the limits of another process with that number, outside of a container, are not the server's`() throws {
        let files = ["proc/77/limits": "Max open files            256   256   files\n", "proc/77/comm": "bash\n"]
        #expect(try Patient(files, status: Self.status).keys(.descriptors) == nil)
    }

    @Test(arguments: [("33554432", ["limits.memory"]), ("1073741824", []), ("max", [])])
    func `a memory limit of the server's control group that is too low is found`(limit: String, found: [String]) throws
    {
        let files = [
            "proc/77/comm": "httpdnsd\n", "proc/77/cgroup": "0::/server\n",
            "sys/fs/cgroup/server/memory.max": limit + "\n",
        ]
        #expect(try Patient(files, status: Self.status).keys(.memory) == found)
    }

    @Test func `a file system is full below 5 percent`() {
        #expect(Check.full("/var", free: 4, of: 100)?.key == "disk.full")
        #expect(Check.full("/var", free: 5, of: 100) == nil)
        #expect(Check.full("/var", free: 0, of: 0) == nil)
        #expect(Check.full("/var", free: .max, of: 1) == nil)
    }

    @Test(arguments: ["/nowhere/ca.pem", "/dev/null"]) func `authorities that are of no use are found`(file: String)
        throws
    {
        let text = Patient.configuration.replacing(
            "http://127.0.0.1:9\"", with: "https://127.0.0.1:9\"\nca_file = \"\(file)\"")
        #expect(try Patient([:], text).keys(.authorities) == ["authorities.missing"])
        #expect(try Patient().keys(.authorities) == [])
    }

    @Test(arguments: [
        ("httpdnsd (enforce)\n", "Permission denied", ["apparmor.enforced"]),
        ("httpdnsd (complain)\n", "Permission denied", []),
        ("unconfined\n", "Permission denied", []), ("httpdnsd (enforce)\n", "", []),
        ("httpdnsd (enforce)\n", "Input/output error", []),
    ])
    func `a profile of AppArmor is found where it is enforced and something is denied`(
        profile: String, error: String, found: [String]
    ) throws {
        var status = Self.status
        status.cache.fileError = error
        let files = ["proc/77/comm": "httpdnsd\n", "proc/77/attr/current": profile]
        #expect(try Patient(files, status: status).keys(.appArmor) == found)
    }

    @Test(arguments: [
        ("/usr/sbin/named (enforce)\n/usr/bin/httpdnsd (enforce)\n", ["apparmor.enforced"]),
        ("httpdnsd (enforce)\n", ["apparmor.enforced"]), ("/usr/bin/httpdnsd (complain)\n", []),
        ("named (enforce)\n", []),
    ])
    func `a profile of AppArmor is found where the server does not run`(profiles: String, found: [String]) throws {
        var patient = try Patient(["sys/kernel/security/apparmor/profiles": profiles])
        patient.silence()
        #expect(patient.keys(.appArmor) == found)
        patient.examination.answers = [:]
        #expect(patient.keys(.appArmor) == nil)
    }
}
