import DNSServer
import Logging
import Platform
import TestServers
import TestSupport
import Testing

@testable import httpdnsd

/// What is left with a service manager.
struct HandoverTests {
    @Test(arguments: [(2, 0, "READY=1"), (3, 1, "FDSTORE=1\nFDNAME=httpdnsd-udp")])
    func `sockets are left with a manager that has room for unfinished work beside them`(
        size: Int, room: Int, message: String
    ) throws {
        let directory = try TemporaryDirectory()
        let socket = try NotifySocket(directory.path + "/notify")
        let manager = try #require(ServiceManager(path: directory.path + "/notify"))
        let log = try LogOutput(.text, level: .critical, journalStream: nil)
        defer { log.finish(within: .patience) }
        let handover = Handover(manager: manager, log: log)
        #expect(handover.store([(.udp, [0, 1])], of: size) == room)
        try manager.tell(.ready)
        #expect(socket.receive() == message)
    }
}
