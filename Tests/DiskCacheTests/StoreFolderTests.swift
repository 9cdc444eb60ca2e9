import Foundation
import TestSupport
import Testing

@testable import DiskCache

/// Damaged files that are set aside.
@Suite struct StoreFolderTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.path + "/cache.sqlite" }
    private var folder: StoreFolder { StoreFolder(path: path) }

    init() throws { directory = try TemporaryDirectory() }

    private func write(_ text: String, _ ends: [String] = ["", "-wal", "-shm"]) throws {
        for end in ends { try Data((text + end).utf8).write(to: URL(fileURLWithPath: path + end)) }
    }

    private var names: Set<String> {
        get throws { Set(try FileManager.default.contentsOfDirectory(atPath: directory.path)) }
    }

    @Test func `with the database goes what belongs to it: none of it is played into the next one`() throws {
        try write("one")
        #expect(folder.setAside(at: 100) == path + ".damaged-100")
        #expect(
            try names == [
                "cache.sqlite.damaged-100", "cache.sqlite.damaged-100-wal", "cache.sqlite.damaged-100-shm",
            ])
        #expect(FileManager.default.contents(atPath: path + ".damaged-100-wal") == Data("one-wal".utf8))
    }

    @Test func `two of one second are both kept`() throws {
        try write("one", [""])
        _ = folder.setAside(at: 100)
        try write("two", [""])
        #expect(folder.setAside(at: 100) == path + ".damaged-100-2")
        #expect(FileManager.default.contents(atPath: path + ".damaged-100") == Data("one".utf8))
        #expect(FileManager.default.contents(atPath: path + ".damaged-100-2") == Data("two".utf8))
    }

    @Test func `the last three are kept, and of the others nothing`() throws {
        for second in 100..<106 {
            try write("\(second)")
            _ = folder.setAside(at: Int64(second))
        }
        let kept = (103..<106).flatMap { second in ["", "-wal", "-shm"].map { "cache.sqlite.damaged-\(second)\($0)" } }
        #expect(try names == Set(kept))
    }

    @Test func `a file whose name leaves no room for another one is removed, and its log with it`() throws {
        let long = directory.path + "/" + String(repeating: "c", count: 245)
        for end in ["", "-wal"] { try Data("no database".utf8).write(to: URL(fileURLWithPath: long + end)) }
        #expect(StoreFolder(path: long).setAside(at: noon) == nil)
        #expect(try names.isEmpty)
    }
}
