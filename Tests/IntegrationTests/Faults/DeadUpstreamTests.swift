import Foundation
import Glibc
import Synchronization
import TestServers
import TestSupport
import Testing

extension Integration {
    /// No upstream responds, and clients go on asking.
    struct DeadUpstreamTests {
        private static let clients = 10
        private static let namesOfEach = Integration.isThorough ? 300 : 150

        @Test func `of many names while everything is dead each gets SERVFAIL, within bounds`() throws {
            let vendor = try FakeHTTPDNS(FakeZone())
            vendor.misbehave(.hang)
            let localDNS = try FakeLocalDNS(FakeZone())
            localDNS.behave(.silent)
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(vendor.url)
                    + DaemonConfiguration.rest(localDNS: localDNS.address, log: "info"))
            let before = (memory: try daemon.kernelNumber("VmRSS"), descriptors: try daemon.descriptorCount())
            let most = Mutex((memory: 0, descriptors: 0))
            let lookups = Mutex<[Lookup]>([])
            let group = DispatchGroup()
            for number in 0..<Self.clients {
                group.enter()
                Thread.detachNewThread {
                    defer { group.leave() }
                    let found = try? Self.ask(daemon, client: number)
                    lookups.withLock { $0 += found ?? [] }
                }
            }
            // Sampled until all have their answers: a peak between two samples is short.
            while group.wait(timeout: .now() + .milliseconds(20)) == .timedOut {
                let now = (memory: try daemon.kernelNumber("VmRSS"), descriptors: try daemon.descriptorCount())
                most.withLock { $0 = (max($0.memory, now.memory), max($0.descriptors, now.descriptors)) }
            }

            let all = lookups.withLock { $0 }
            #expect(all.count == Self.clients * Self.namesOfEach)
            #expect(all.allSatisfy { $0.reply?.rcode == ResponseCode.servFail })
            // Option 15 is the extended error (RFC 8914).
            #expect(all.allSatisfy { $0.reply?.edns?.option(15) != nil })
            let (memory, descriptors) = most.withLock { $0 }
            #expect(memory - before.memory <= 192 << 10, "\(memory - before.memory) KiB more")
            // LocalDNS has at most 1,024 channels, with a socket each; there are few other descriptors.
            #expect(descriptors <= before.descriptors + 1_100, "\(descriptors), before \(before.descriptors)")
            let lines = daemon.errors.split(separator: "\n").count
            #expect(lines <= 20, "\(lines) lines")
            #expect(try daemon.stop() == 0)
        }

        private static func ask(_ daemon: Daemon, client number: Int) throws -> [Lookup] {
            // So few at once that the kernel's buffers hold all their replies, whenever they are read.
            let client = try BulkClient(daemon.address, window: 80, from: "127.0.1.\(number + 1)")
            return try client.ask((0..<namesOfEach).map { .init("n\($0).c\(number).example.com", RecordType.a) })
        }
    }
}

extension Daemon {
    /// 0 for an unprivileged user: descriptors of a process that cannot be dumped are visible to root only.
    fileprivate func descriptorCount() throws -> Int {
        guard geteuid() == 0 else { return 0 }
        return try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
    }
}
