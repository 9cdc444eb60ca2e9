import Glibc
import Platform
import TestSupport
import Testing

struct ServiceManagerTests {
    @Test(arguments: [false, true])
    func `a manager is notified at a path or an abstract name`(isAbstract: Bool) throws {
        let directory = try TemporaryDirectory()
        let path = (isAbstract ? "@" : "") + directory.path + "/notify"
        let socket = try NotifySocket(path)
        let manager = try #require(ServiceManager(path: path))
        try manager.tell(.ready)
        #expect(socket.receive() == "READY=1")
        try manager.tell(.reloading)
        let reloading = socket.receive().split(separator: "\n")
        #expect(reloading.first == "RELOADING=1")
        let time = try #require(reloading.last).split(separator: "=")
        #expect(time.first == "MONOTONIC_USEC" && Int(time.last ?? "") ?? 0 > 0)
        try manager.tell(.stopping)
        #expect(socket.receive() == "STOPPING=1")
        try manager.tell(.alive)
        #expect(socket.receive() == "WATCHDOG=1")
    }

    @Test(arguments: [
        (["WATCHDOG_USEC": "30000000"], Duration.seconds(30)),
        (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "\(getpid())"], .seconds(30)),
        (["WATCHDOG_USEC": "1"], .milliseconds(100)), (["WATCHDOG_USEC": "9223372036854775807"], .seconds(3_600)),
    ])
    func `a manager that watches says how often it wants a sign of life`(variables: [String: String], limit: Duration) {
        #expect(ServiceManager.watchdog(variables) == limit)
    }

    @Test(arguments: [
        [:], ["WATCHDOG_USEC": ""], ["WATCHDOG_USEC": "0"], ["WATCHDOG_USEC": "-1"], ["WATCHDOG_USEC": "30s"],
        ["WATCHDOG_USEC": "99999999999999999999"], ["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"],
        ["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": ""], ["WATCHDOG_PID": "\(getpid())"],
    ])
    func `a manager that does not watch, or watches another process, wants none`(variables: [String: String]) {
        #expect(ServiceManager.watchdog(variables) == nil)
    }

    @Test(arguments: [nil, "", "/", "@", "relative", "vsock:2:1234"])
    func `without the address of a manager nothing is notified`(path: String?) {
        #expect(ServiceManager(path: path) == nil)
    }

    @Test(arguments: [(107, ECONNREFUSED), (108, ENAMETOOLONG)])
    func `an address has 107 bytes at most`(length: Int, code: Int32) throws {
        let manager = try #require(ServiceManager(path: "@" + String(repeating: "x", count: length - 1)))
        let error = #expect(throws: SystemError.self) { try manager.tell(.ready) }
        #expect(error?.code == code)
    }
}
