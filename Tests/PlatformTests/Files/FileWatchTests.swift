import DNSWire
import Foundation
import Glibc
import Platform
import TestSupport
import Testing

@Suite(.onLoop, .timeLimit(.minutes(10))) struct FileWatchTests {
    private let directory: TemporaryDirectory
    private var loop: EventLoop { LoopRunner.shared.loop }

    init() throws {
        directory = try TemporaryDirectory()
        for folder in ["etc", "run"] {
            try FileManager.default.createDirectory(
                atPath: directory.path + "/" + folder, withIntermediateDirectories: true)
        }
    }

    /// Watches a file of the directory; the inbox gets an element for each call.
    @Loop private func watch(_ name: String) throws -> (FileWatch, Inbox<Int>) {
        let inbox = Inbox<Int>()
        return (try FileWatch([directory.path + "/" + name], on: loop) { inbox.add(1) }, inbox)
    }

    private func path(_ name: String) -> String { directory.path + "/" + name }

    @Test @Loop func `a file that is replaced by renaming is noticed, each time`() async throws {
        try directory.write("1", to: "etc/resolv.conf")
        let (watch, inbox) = try watch("etc/resolv.conf")
        for number in 1...3 {
            try directory.write("new", to: "etc/resolv.conf.\(number)")
            rename(path("etc/resolv.conf.\(number)"), path("etc/resolv.conf"))
            #expect(await inbox.wait(for: number).count >= number)
        }
        watch.cancel()
    }

    @Test @Loop func `a file that is written in place is noticed`() async throws {
        try directory.write("1", to: "etc/resolv.conf")
        let (watch, inbox) = try watch("etc/resolv.conf")
        let file = try #require(fopen(path("etc/resolv.conf"), "a"))
        fputs("more", file)
        fclose(file)
        #expect(await inbox.wait(for: 1).count >= 1)
        watch.cancel()
    }

    @Test @Loop func `behind a symbolic link the file is noticed, and the link when it is changed`() async throws {
        try directory.write("1", to: "run/stub.conf")
        symlink("../run/stub.conf", path("etc/resolv.conf"))
        let (watch, inbox) = try watch("etc/resolv.conf")
        try directory.write("2", to: "run/stub.conf")
        var count = await inbox.wait(for: 1).count
        try directory.write("3", to: "run/other.conf")
        symlink("../run/other.conf", path("etc/link"))
        rename(path("etc/link"), path("etc/resolv.conf"))
        #expect(await inbox.wait(for: count + 1).count > count)
        count = inbox.elements.count
        try directory.write("4", to: "run/other.conf")
        #expect(await inbox.wait(for: count + 1).count > count)
        watch.cancel()
    }

    @Test @Loop func `behind as many links as the kernel follows a file is noticed`() async throws {
        try directory.write("1", to: "run/0")
        for number in 1...40 { symlink("\(number - 1)", path("run/\(number)")) }
        try #require(access(path("run/40"), F_OK) == 0)
        let (watch, inbox) = try watch("run/40")
        let file = try #require(fopen(path("run/0"), "a"))
        fputs("more", file)
        fclose(file)
        #expect(await inbox.wait(for: 1).count >= 1)
        watch.cancel()
    }

    @Test(arguments: ["run/two", "../{}/run/two"])
    @Loop func `a file is noticed when a directory above it is a link that changes`(target: String) async throws {
        for folder in ["run/one/certificates", "run/two/certificates"] {
            try FileManager.default.createDirectory(atPath: path(folder), withIntermediateDirectories: true)
            try directory.write(folder, to: folder + "/key.pem")
        }
        symlink("run/one", path("live"))
        let (watch, inbox) = try watch("live/certificates/key.pem")
        let folder = try #require(directory.path.split(separator: "/").last)
        symlink(target.replacing("{}", with: folder), path("next"))
        rename(path("next"), path("live"))
        let count = await inbox.wait(for: 1).count
        #expect(count >= 1)
        try directory.write("new", to: "run/two/certificates/key.pem")
        #expect(await inbox.wait(for: count + 1).count > count)
        watch.cancel()
    }

    @Test @Loop func `a file is noticed whose directory is made later`() async throws {
        let (watch, inbox) = try watch("run/systemd/resolve/resolv.conf")
        let folder = path("run/systemd/resolve")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let count = await inbox.wait(for: 1).count
        try directory.write("1", to: "run/systemd/resolve/resolv.conf")
        #expect(await inbox.wait(for: count + 1).count > count)
        watch.cancel()
    }

    @Test @Loop func `a directory that is removed and made again is watched again`() async throws {
        try directory.write("1", to: "run/resolv.conf")
        let (watch, inbox) = try watch("run/resolv.conf")
        try FileManager.default.removeItem(atPath: path("run"))
        var count = await inbox.wait(for: 1).count
        try FileManager.default.createDirectory(atPath: path("run"), withIntermediateDirectories: true)
        count = await inbox.wait(for: count + 1).count
        try directory.write("1", to: "run/resolv.conf")
        #expect(await inbox.wait(for: count + 1).count > count)
        watch.cancel()
    }

    @Test @Loop func `other files of the same directory mean nothing`() async throws {
        try directory.write("1", to: "etc/resolv.conf")
        let (watch, inbox) = try watch("etc/resolv.conf")
        for number in 0..<20 {
            try directory.write("\(number)", to: "etc/passwd")
            await loop.nextTurn()
        }
        try directory.write("2", to: "etc/resolv.conf")
        _ = await inbox.wait(for: 1)
        await loop.nextTurn()
        // One for the file, and at most one for changes before the watch.
        #expect(inbox.elements.count <= 2)
        watch.cancel()
    }

    @Test @Loop func `a file that replaces one of the links of a circle is noticed`() async throws {
        symlink("b", path("etc/a"))
        symlink("a", path("etc/b"))
        let (watch, inbox) = try watch("etc/a")
        try directory.write("1", to: "etc/new")
        await loop.nextTurn()
        #expect(inbox.elements.isEmpty)
        rename(path("etc/new"), path("etc/b"))
        #expect(await inbox.wait(for: 1).count >= 1)
        watch.cancel()
    }

    @Test func `events are cut from bytes, and what does not fit ends the reading`() {
        func event(_ watch: Int32, _ mask: UInt32, _ name: String, length: UInt32) -> [UInt8] {
            RouteBytes.native(watch) + RouteBytes.native(mask) + RouteBytes.native(UInt32(0))
                + RouteBytes.native(length)
                + Array(name.utf8) + [UInt8](repeating: 0, count: max(0, Int(min(length, 64)) - name.utf8.count))
        }
        let bytes = event(1, 0x80, "resolv.conf", length: 16) + event(-1, 0x4000, "", length: 0)
        let events = Array(FileEvents(bytes[...]))
        #expect(events.map(\.watch) == [1, -1])
        #expect(events.first?.name == "resolv.conf")
        for count in 0..<bytes.count { #expect(Array(FileEvents(bytes.prefix(count))).count < 2 + count / 48) }
        #expect(Array(FileEvents(event(1, 1, "x", length: .max)[...])).isEmpty)
    }
}

@Suite(.onLoop) struct NetworkWatchTests {
    @Test @Loop func `the network and the clock can be watched here, and rest`() async throws {
        let inbox = Inbox<Int>()
        let loop = LoopRunner.shared.loop
        let network = try NetworkWatch(on: loop) { _ in inbox.add(1) }
        let resume = try ResumeWatch(on: loop) { _ in inbox.add(2) }
        await loop.nextTurn()
        #expect(!inbox.elements.contains(2))
        network.cancel()
        resume.cancel()
    }

    @Test @Loop func `the kernel reports by which interface an address is reached, and from which source`() {
        let loopback = if_nametoindex("lo")
        #expect(NetworkPaths.kernelRoute(to: .v4(0x7f00_0001)) == .init(interface: loopback, source: .v4(0x7f00_0001)))
        // Refused in every case (RFC 1122 section 3.2.1.3).
        #expect(NetworkPaths.kernelRoute(to: .v4(0))?.interface ?? loopback == loopback)
    }
}
