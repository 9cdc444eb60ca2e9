import DNSCache
import DNSWire
import Foundation
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import DiskCache

/// A path with another program's file: it stays as it is, the operator is notified, and the cache works in memory.
struct ForeignFileTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/cache.sqlite" }

    init() throws { directory = try TemporaryDirectory() }

    private func sqlite(_ sql: String) throws {
        let outcome = try ChildProcess.run(["sqlite3", path, sql])
        try #require(outcome.status == 0, "\(outcome.errors)")
    }

    private func contents() throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        return Dictionary(
            uniqueKeysWithValues: names.map {
                ($0, FileManager.default.contents(atPath: directory.path + "/" + $0) ?? Data())
            })
    }

    /// Starts several times; the folder must stay as it is, and the log must say why.
    private func staysAsItIs(_ what: String) throws {
        let before = try contents()
        for _ in 0..<5 {
            let machine = try Machine(path)
            #expect(machine.wait { machine.disk.status.state == .memoryOnly }, "\(what)")
            try machine.put("www.example.com")
            #expect(machine.has("www.example.com"), "\(what)")
            machine.disk.stop()
            let reason = "\(path) is not a cache of this program, and left as it is"
            #expect(machine.events.all == [.unavailable(reason: reason)], "\(what)")
            #expect(try contents() == before, "\(what)")
        }
    }

    @Test(arguments: [
        "some notes", "SQLite format 3\0", String(repeating: "notes", count: 2_000), "\0\0\0\0", "S",
    ])
    func `a file that is no database`(text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try staysAsItIs("text")
    }

    @Test(arguments: [
        "CREATE TABLE recipes (name TEXT)", "PRAGMA journal_mode = WAL; CREATE TABLE recipes (name TEXT)",
        "PRAGMA application_id = 1; VACUUM", "PRAGMA user_version = 2; VACUUM", "VACUUM",
        "PRAGMA application_id = -1; CREATE TABLE answer (id INTEGER PRIMARY KEY)",
    ])
    func `another program's database`(sql: String) throws {
        try sqlite(sql)
        try staysAsItIs(sql)
    }

    @Test func `another program's database that is damaged`() throws {
        try sqlite("CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES ('soup')")
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        // The type of the first page.
        bytes[100] = 0xff
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        try staysAsItIs("damaged")
    }

    @Test func `a file of ours whose header does not say so any more`() throws {
        do { try AnswerFile(path).write(try stored("www.example.com")) }
        let sound = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        for offset in [0, 15, 68, 69, 71] {
            var bytes = sound
            bytes[offset] ^= 0x10
            for name in try contents().keys { unlink(directory.path + "/" + name) }
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            try staysAsItIs("byte \(offset)")
        }
    }

    @Test func `a file of ours that was never closed says so, too`() throws {
        let file = try AnswerFile(path)
        try file.write(try stored("www.example.com"))
        let copy = path + "-copy"
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        #expect(try StoreFolder.isOurs(copy))
        _ = file
    }

    @Test func `the file is used once the other one is gone`() throws {
        try Data("some notes".utf8).write(to: URL(fileURLWithPath: path))
        let machine = try Machine(path)
        try machine.put("www.example.com")
        #expect(machine.wait { machine.disk.status.state == .memoryOnly })
        #expect(unlink(path) == 0)
        #expect(machine.wait { machine.events.all.contains(.back) } && machine.flush())
        let next = try machine.restarted()
        #expect(next.has("www.example.com"))
    }

    @Test func `another file that takes the place of ours while it is used is left as it is`() throws {
        let machine = try Machine(path)
        #expect(machine.load())
        let other = path + "-other"
        try Data("some notes".utf8).write(to: URL(fileURLWithPath: other))
        #expect(rename(other, path) == 0)
        try machine.put("www.example.com")
        #expect(machine.wait { machine.disk.status.state == .memoryOnly })
        machine.disk.stop()
        #expect(FileManager.default.contents(atPath: path) == Data("some notes".utf8))
        #expect(machine.quarantined.isEmpty)
    }
}
