import DNSCache
import DNSWire
import Foundation
import Glibc
import TestSupport
import Testing

@testable import DiskCache

/// Where the file lies, and who else wants it.
@Suite struct PlaceTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/state/cache.sqlite" }

    init() throws { directory = try TemporaryDirectory() }

    @Test func `the folder is made, and nobody else may read what is in it`() throws {
        let machine = try Machine(path)
        #expect(machine.load())
        try machine.put("www.example.com")
        #expect(machine.flush())
        for name in try FileManager.default.contentsOfDirectory(atPath: directory.path + "/state") {
            var status = stat()
            #expect(stat(directory.path + "/state/" + name, &status) == 0 && status.st_mode & 0o077 == 0, "\(name)")
        }
        machine.disk.stop()
    }

    @Test func `of two processes on one file the second one says so, works in memory, and takes over later`() throws {
        let first = try Machine(path)
        #expect(first.load())
        try first.put("www.example.com")
        let second = try Machine(path)
        #expect(second.wait { second.disk.status.state == .memoryOnly && !second.events.all.isEmpty })
        #expect(second.events.all == [.unavailable(reason: "another process uses \(path)")])
        try second.put("b.example.com")
        first.disk.stop()
        #expect(second.wait { second.events.all.contains(.back) } && second.load() && second.has("www.example.com"))
        second.disk.stop()
    }

    @Test func `the lock is given back although a child that is just being started has a copy of it`() throws {
        let path = directory.path + "/lock"
        let copy: Int32
        do {
            let lock = try FileLock.take(path)
            let isTaken = lock != nil
            #expect(isTaken)
            copy = try #require(Self.descriptor(of: path).map { dup($0) })
        }
        defer { close(copy) }
        let next = try FileLock.take(path)
        let isFree = next != nil
        #expect(isFree)
    }

    /// The descriptor that has a file open.
    private static func descriptor(of path: String) -> Int32? {
        var (wanted, status) = (stat(), stat())
        guard stat(path, &wanted) == 0 else { return nil }
        return (0..<4_096).first {
            fstat($0, &status) == 0 && status.st_ino == wanted.st_ino && status.st_dev == wanted.st_dev
        }
    }

    @Test func `a folder that vanishes is noticed, and everything written anew`() throws {
        let machine = try Machine(path)
        try machine.put("www.example.com")
        #expect(machine.flush() && machine.load())
        try FileManager.default.removeItem(atPath: directory.path + "/state")
        try machine.put("b.example.com")
        #expect(machine.wait { machine.events.all.contains(.back) } && machine.flush())
        machine.disk.stop()
        let next = try Machine(path)
        #expect(next.load() && next.has("www.example.com") && next.has("b.example.com"))
        next.disk.stop()
    }

    @Test func `where no folder can be made, one message tells it`() throws {
        let machine = try Machine("/proc/none/cache.sqlite")
        #expect(machine.wait { machine.disk.status.state == .memoryOnly })
        usleep(50_000)
        try machine.put("www.example.com")
        #expect(machine.has("www.example.com") && machine.events.all.count == 1)
        machine.disk.stop()
    }

    @Test func `another process's lock is waited for, and then done without`() throws {
        let machine = try Machine(path)
        #expect(machine.load())
        do {
            let other = try SQLiteConnection(path, .readWrite)
            try other.execute("BEGIN IMMEDIATE")
            try machine.put("www.example.com")
            #expect(machine.wait { machine.disk.status.state == .memoryOnly })
            try other.execute("ROLLBACK")
        }
        #expect(machine.wait { machine.events.all.contains(.back) } && machine.flush())
        machine.disk.stop()
    }

    @Test func `a cache that has stopped has nothing open any more, not even for SQLite's check`() throws {
        let first = try Machine(path)
        for index in 0..<2_000 { try first.put("n\(index).example.com") }
        first.disk.stop()
        for _ in 0..<20 {
            let machine = try Machine(path)
            #expect(machine.load())
            machine.disk.stop()
            let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
                try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0)
            }
            #expect(!open.contains { $0.hasPrefix(path) })
            #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
        }
    }

    @Test func `a path that is a pipe is left alone`() throws {
        try FileManager.default.createDirectory(atPath: directory.path + "/state", withIntermediateDirectories: true)
        try #require(mkfifo(path, 0o600) == 0)
        let machine = try Machine(path)
        #expect(machine.wait { machine.disk.status.state == .memoryOnly })
        #expect(machine.disk.status.reason.contains("not a regular file"))
        machine.disk.stop()
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
    }

    @Test func `a path that is no file is left alone`() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let machine = try Machine(path)
        #expect(machine.wait { machine.disk.status.state == .memoryOnly })
        machine.disk.stop()
        var isDirectory: ObjCBool = false
        #expect(FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory.boolValue)
    }
}
