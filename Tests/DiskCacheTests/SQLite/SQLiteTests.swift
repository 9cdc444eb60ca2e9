import TestSupport
import Testing

@testable import DiskCache

/// How SQLite is used: the consequences of its errors for the file, and what a file may not make it do.
@Suite struct SQLiteTests {
    /// Primary result codes of SQLite by number, which are part of its interface.
    @Test(arguments: [
        (3, "PERM"), (5, "BUSY"), (6, "LOCKED"), (7, "NOMEM"), (8, "READONLY"), (9, "INTERRUPT"), (10, "IOERR"),
        (13, "FULL"), (14, "CANTOPEN"), (15, "PROTOCOL"), (22, "NOLFS"), (23, "AUTH"), (266, "IOERR_READ"),
    ])
    func `an error of the place does not affect the file`(code: Int32, name: String) {
        #expect(!SQLiteError(code, on: nil).isDamage, "\(name)")
    }

    @Test(arguments: [
        (1, "ERROR"), (11, "CORRUPT"), (17, "SCHEMA"), (18, "TOOBIG"), (19, "CONSTRAINT"), (20, "MISMATCH"),
        (24, "FORMAT"), (25, "RANGE"), (26, "NOTADB"), (267, "CORRUPT_VTAB"),
    ])
    func `an error of the file has it replaced`(code: Int32, name: String) {
        #expect(SQLiteError(code, on: nil).isDamage, "\(name)")
    }

    @Test func `no trigger runs, and no value is longer than an answer can be`() throws {
        let connection = try SQLiteConnection(":memory:")
        try connection.execute(
            """
            CREATE TABLE a (x); CREATE TABLE b (x);
            CREATE TRIGGER evil AFTER INSERT ON a BEGIN INSERT INTO b VALUES (1); END;
            INSERT INTO a VALUES (1);
            """)
        #expect(try connection.integer("SELECT count(*) FROM a") == 1)
        #expect(try connection.integer("SELECT count(*) FROM b") == 0)
        #expect(try connection.integer("SELECT length(zeroblob(100000))") == 100_000)
        #expect(throws: SQLiteError.self) {
            try connection.integer("SELECT length(zeroblob(600000))")
        }
    }
}
