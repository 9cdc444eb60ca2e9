import Foundation
import TestSupport
import Testing

@testable import DiskCache

/// Damaged files that are renamed.
@Suite struct StoreFolderTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/cache.sqlite" }
    private var folder: StoreFolder { StoreFolder(path: path) }

    init() throws { directory = try TemporaryDirectory() }

    /// Writes a text with the header of our databases, to the database and the files that belong to it.
    private func write(_ text: String, _ ends: [String] = ["", "-wal", "-shm"], to path: String? = nil) throws {
        for end in ends {
            try (end.isEmpty ? ours(text) : Data((text + end).utf8))
                .write(to: URL(fileURLWithPath: (path ?? self.path) + end))
        }
    }

    private func ours(_ text: String) -> Data { header + Data(text.utf8) }

    private var names: Set<String> {
        get throws { Set(try FileManager.default.contentsOfDirectory(atPath: directory.path)) }
    }

    @Test func `with the database goes what belongs to it: none of it is played into the next one`() throws {
        try write("one")
        #expect(folder.quarantine(at: 100) == path + ".damaged-100")
        #expect(
            try names == [
                "cache.sqlite.damaged-100", "cache.sqlite.damaged-100-wal", "cache.sqlite.damaged-100-shm",
            ])
        #expect(FileManager.default.contents(atPath: path + ".damaged-100-wal") == Data("one-wal".utf8))
    }

    @Test func `two of one second are both retained`() throws {
        try write("one", [""])
        _ = folder.quarantine(at: 100)
        try write("two", [""])
        #expect(folder.quarantine(at: 100) == path + ".damaged-100-2")
        #expect(FileManager.default.contents(atPath: path + ".damaged-100") == ours("one"))
        #expect(FileManager.default.contents(atPath: path + ".damaged-100-2") == ours("two"))
    }

    @Test func `the last three are retained, and of the others nothing`() throws {
        for second in 98..<106 {
            try write("\(second)")
            _ = folder.quarantine(at: Int64(second))
        }
        let retained = (103..<106).flatMap { second in
            ["", "-wal", "-shm"].map { "cache.sqlite.damaged-\(second)\($0)" }
        }
        #expect(try names == Set(retained))
    }

    @Test func `what bears such a name and is not ours is never deleted, and there are still no more than three`()
        throws
    {
        let others = [".damaged-1", ".damaged-2", ".damaged-notes", ".damaged-3-old", ".damaged-", ".damaged-03"]
        for end in others { try Data("notes".utf8).write(to: URL(fileURLWithPath: path + end)) }
        try Data("notes".utf8).write(to: URL(fileURLWithPath: path + ".damaged-1-wal"))
        for second in 100..<106 {
            try write("\(second)")
            #expect(folder.quarantine(at: Int64(second)) == path + ".damaged-\(second)")
        }
        let foreign = others.map { "cache.sqlite" + $0 } + ["cache.sqlite.damaged-1-wal"]
        #expect(try names == Set(foreign + ["", "-wal", "-shm"].map { "cache.sqlite.damaged-105\($0)" }))
        for end in others { #expect(FileManager.default.contents(atPath: path + end) == Data("notes".utf8)) }
    }

    @Test func `where three are there that are not ours, the damaged file is deleted instead of renamed`() throws {
        for second in 1...3 { try Data("notes".utf8).write(to: URL(fileURLWithPath: path + ".damaged-\(second)")) }
        try write("one")
        #expect(folder.quarantine(at: 100) == nil)
        #expect(try names == Set((1...3).map { "cache.sqlite.damaged-\($0)" }))
    }

    @Test func `a file whose name leaves no room for another one is removed, and its log with it`() throws {
        let long = directory.path + "/" + String(repeating: "c", count: 245)
        try write("one", ["", "-wal"], to: long)
        #expect(StoreFolder(path: long).quarantine(at: noon) == nil)
        #expect(try names.isEmpty)
    }
}
