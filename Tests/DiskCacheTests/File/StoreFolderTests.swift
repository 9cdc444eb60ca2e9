import Foundation
import TestSupport
import Testing

@testable import DiskCache

/// Damaged files that are renamed.
struct StoreFolderTests {
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
        #expect(folder.quarantine() == path + ".damaged")
        #expect(try names == ["cache.sqlite.damaged", "cache.sqlite.damaged-wal", "cache.sqlite.damaged-shm"])
        #expect(FileManager.default.contents(atPath: path + ".damaged-wal") == Data("one-wal".utf8))
    }

    @Test func `the last one is retained, and of those before nothing`() throws {
        try write("one")
        _ = folder.quarantine()
        try write("two", [""])
        #expect(folder.quarantine() == path + ".damaged")
        #expect(try names == ["cache.sqlite.damaged"])
        #expect(FileManager.default.contents(atPath: path + ".damaged") == ours("two"))
    }

    @Test func `what bears such a name and is not ours is never deleted, but the damaged file`() throws {
        try Data("notes".utf8).write(to: URL(fileURLWithPath: path + ".damaged"))
        try write("one")
        #expect(folder.quarantine() == nil)
        #expect(try names == ["cache.sqlite.damaged"])
        #expect(FileManager.default.contents(atPath: path + ".damaged") == Data("notes".utf8))
    }

    @Test func `a file whose name leaves no room for another one is removed, and its log with it`() throws {
        let long = directory.path + "/" + String(repeating: "c", count: 248)
        try write("one", ["", "-wal"], to: long)
        #expect(StoreFolder(path: long).quarantine() == nil)
        #expect(try names.isEmpty)
    }
}
