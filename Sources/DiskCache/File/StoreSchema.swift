/// The tables of the file and their migrations. Documented in Documentation/Disk.md.
enum StoreSchema {
    /// The identifier of our files in SQLite's header ("hdns").
    static let applicationID: Int64 = 0x6864_6e73
    /// Marks an empty file as ours, in one write of its first page: so every header says which program owns the file.
    /// `auto_vacuum`, by which unused pages can be returned, can be set only here, before any write. Undone when the
    /// connection closes after an error.
    static let begin: StaticString = """
        BEGIN DEFERRED;
        PRAGMA auto_vacuum = INCREMENTAL;
        PRAGMA application_id = 0x68646e73;
        COMMIT;
        """

    /// The migrations: each one converts a file of the previous version; the first one converts an empty file.
    ///
    /// Never changed once published: a new version is a new step at the end.
    static let steps: [StaticString] = [
        """
        CREATE TABLE source (id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE) STRICT;
        CREATE TABLE policy (id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE) STRICT;
        CREATE TABLE answer (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            type INTEGER NOT NULL,
            class INTEGER NOT NULL,
            flags INTEGER NOT NULL,
            stored INTEGER NOT NULL,
            lifetime INTEGER NOT NULL,
            source INTEGER NOT NULL,
            route INTEGER NOT NULL,
            policy INTEGER NOT NULL,
            rcode INTEGER NOT NULL,
            negative INTEGER NOT NULL,
            addresses TEXT,
            body BLOB NOT NULL,
            checksum INTEGER NOT NULL,
            UNIQUE (name, type, class, flags)
        ) STRICT;
        CREATE VIEW answers AS SELECT
            answer.name,
            CASE type WHEN 1 THEN 'A' WHEN 2 THEN 'NS' WHEN 5 THEN 'CNAME' WHEN 6 THEN 'SOA' WHEN 12 THEN 'PTR'
                WHEN 15 THEN 'MX' WHEN 16 THEN 'TXT' WHEN 28 THEN 'AAAA' WHEN 33 THEN 'SRV' WHEN 64 THEN 'SVCB'
                WHEN 65 THEN 'HTTPS' ELSE 'TYPE' || type END AS type,
            CASE WHEN rcode = 3 THEN 'NXDOMAIN' WHEN negative THEN 'NODATA' ELSE 'NOERROR' END AS status,
            addresses,
            lifetime AS ttl,
            datetime(stored, 'unixepoch') AS stored,
            datetime(stored + lifetime, 'unixepoch') AS fresh_until,
            source.identity AS source,
            CASE route WHEN 0 THEN 'protect' WHEN 1 THEN 'protect (listed)' WHEN 2 THEN 'bypass' ELSE 'forward' END AS route
        FROM answer LEFT JOIN source ON source.id = answer.source;
        """,
        """
        CREATE TABLE state (
            kind TEXT NOT NULL,
            name TEXT NOT NULL,
            value TEXT NOT NULL,
            stored INTEGER NOT NULL,
            checksum INTEGER NOT NULL,
            PRIMARY KEY (kind, name)
        ) STRICT, WITHOUT ROWID;
        CREATE VIEW states AS SELECT kind, name, value, datetime(stored, 'unixepoch') AS stored FROM state;
        """,
        """
        CREATE TABLE identity (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
        INSERT INTO identity SELECT id, identity FROM source;
        INSERT OR IGNORE INTO identity (text) SELECT digest FROM policy ORDER BY id;
        UPDATE answer SET policy = coalesce(
            (SELECT identity.id FROM policy JOIN identity ON identity.text = digest WHERE policy.id = answer.policy), 0);
        DROP VIEW answers;
        DROP TABLE source;
        DROP TABLE policy;
        CREATE VIEW answers AS SELECT
            answer.name,
            CASE type WHEN 1 THEN 'A' WHEN 2 THEN 'NS' WHEN 5 THEN 'CNAME' WHEN 6 THEN 'SOA' WHEN 12 THEN 'PTR'
                WHEN 15 THEN 'MX' WHEN 16 THEN 'TXT' WHEN 28 THEN 'AAAA' WHEN 33 THEN 'SRV' WHEN 64 THEN 'SVCB'
                WHEN 65 THEN 'HTTPS' ELSE 'TYPE' || type END AS type,
            CASE WHEN rcode = 3 THEN 'NXDOMAIN' WHEN negative THEN 'NODATA' ELSE 'NOERROR' END AS status,
            addresses,
            lifetime AS ttl,
            datetime(stored, 'unixepoch') AS stored,
            datetime(stored + lifetime, 'unixepoch') AS fresh_until,
            identity.text AS source,
            CASE route WHEN 0 THEN 'protect' WHEN 1 THEN 'protect (listed)' WHEN 2 THEN 'bypass' ELSE 'forward' END AS route
        FROM answer LEFT JOIN identity ON identity.id = answer.source;
        """,
        """
        DROP VIEW answers;
        ALTER TABLE answer RENAME TO answer_before;
        CREATE TABLE answer (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            kind INTEGER NOT NULL,
            stored INTEGER,
            facts INTEGER,
            addresses TEXT,
            body BLOB,
            stored6 INTEGER,
            facts6 INTEGER,
            addresses6 TEXT,
            body6 BLOB,
            checksum INTEGER NOT NULL,
            UNIQUE (name, kind)
        ) STRICT;
        CREATE VIEW sound AS
            SELECT *, lifetime | (negative << 20) | (rcode << 21) | (route << 25) | (source << 27) | (policy << 45) AS facts
            FROM answer_before
            WHERE type BETWEEN 0 AND 65535 AND class BETWEEN 0 AND 65535 AND flags BETWEEN 0 AND 3
            AND lifetime BETWEEN 1 AND 604800 AND negative BETWEEN 0 AND 1 AND rcode BETWEEN 0 AND 15
            AND route BETWEEN 0 AND 3 AND source BETWEEN 1 AND 262143 AND policy BETWEEN 1 AND 262143;
        INSERT INTO answer (id, name, kind, stored, facts, addresses, body, stored6, facts6, addresses6, body6, checksum)
            SELECT min(one.id, ifnull(six.id, one.id)), one.name, (one.type << 24) | (one.class << 8) | one.flags,
                one.stored, one.facts, one.addresses, one.body, six.stored, six.facts, six.addresses, six.body,
                ifnull((one.checksum | six.checksum) - (one.checksum & six.checksum), one.checksum)
            FROM sound AS one LEFT JOIN sound AS six ON one.type = 1
                AND six.name = one.name AND six.type = 28 AND six.class = one.class AND six.flags = one.flags
            WHERE one.type <> 28;
        INSERT INTO answer (id, name, kind, stored6, facts6, addresses6, body6, checksum)
            SELECT id, name, (1 << 24) | (class << 8) | flags, stored, facts, addresses, body, checksum
            FROM sound AS six
            WHERE type = 28 AND NOT EXISTS (
                SELECT 1 FROM sound AS one
                WHERE one.name = six.name AND one.type = 1 AND one.class = six.class AND one.flags = six.flags);
        DROP VIEW sound;
        CREATE VIEW answers AS
        WITH part (name, type, stored, facts, addresses) AS (
            SELECT name, kind >> 24, stored, facts, addresses FROM answer WHERE facts IS NOT NULL
            UNION ALL SELECT name, 28, stored6, facts6, addresses6 FROM answer WHERE facts6 IS NOT NULL
        )
        SELECT
            part.name,
            CASE type WHEN 1 THEN 'A' WHEN 2 THEN 'NS' WHEN 5 THEN 'CNAME' WHEN 6 THEN 'SOA' WHEN 12 THEN 'PTR'
                WHEN 15 THEN 'MX' WHEN 16 THEN 'TXT' WHEN 28 THEN 'AAAA' WHEN 33 THEN 'SRV' WHEN 64 THEN 'SVCB'
                WHEN 65 THEN 'HTTPS' ELSE 'TYPE' || type END AS type,
            CASE WHEN facts >> 21 & 15 = 3 THEN 'NXDOMAIN' WHEN facts >> 20 & 1 THEN 'NODATA' ELSE 'NOERROR' END AS status,
            addresses,
            facts & 1048575 AS ttl,
            datetime(stored, 'unixepoch') AS stored,
            datetime(stored + (facts & 1048575), 'unixepoch') AS fresh_until,
            identity.text AS source,
            CASE facts >> 25 & 3 WHEN 0 THEN 'protect' WHEN 1 THEN 'protect (listed)' WHEN 2 THEN 'bypass'
                ELSE 'forward' END AS route
        FROM part LEFT JOIN identity ON identity.id = facts >> 27 & 262143;
        """,
    ]

    /// The range of a number in the header of any SQLite file: 32 bits.
    static let numbers: ClosedRange<Int64> = Int64(Int32.min)...Int64(UInt32.max)

    static var version: Int64 { Int64(steps.count) }

    /// Migrates a file to the current version, in one transaction.
    ///
    /// - Returns: whether it was empty.
    /// - Throws: also for a file of a later version than this program supports.
    @discardableResult
    static func migrate(_ connection: borrowing SQLiteConnection) throws(SQLiteError) -> Bool {
        let version = try connection.integer("PRAGMA user_version", in: numbers) ?? 0
        let isEmpty = try connection.integer("SELECT count(*) FROM sqlite_schema", in: numbers) == 0
        guard (0...Self.version).contains(version) else {
            throw SQLiteError(damaged: "it is of version \(version), and this program knows \(Self.version)")
        }
        guard version < Self.version else { return false }
        try connection.execute("BEGIN IMMEDIATE")
        do throws(SQLiteError) {
            for step in steps[Int(version)...] { try connection.execute(step) }
            try dropFormerAnswers(connection)
            try connection.execute("PRAGMA user_version = 4")
            try connection.execute("COMMIT")
            return isEmpty
        } catch {
            try? connection.execute("ROLLBACK")
            throw error
        }
    }

    /// Removes the table of answers of the third version, which the fourth step has renamed and copied.
    ///
    /// Some rows at a time: what one statement changes SQLite remembers until it ends, and in memory.
    private static func dropFormerAnswers(_ connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let count =
            try connection.integer("SELECT count(*) FROM answer_before", in: 0...StoredRange.ids.upperBound) ?? 0
        for _ in 0...(count / 4_096) {
            try connection.execute("DELETE FROM answer_before WHERE id IN (SELECT id FROM answer_before LIMIT 4096)")
        }
        try connection.execute("DROP TABLE answer_before")
    }

    /// Checks that the file has the required tables and views, with the same SQL text, and no trigger.
    static func check(_ connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let model = try SQLiteConnection("", .memory)
        try migrate(model)
        let expected = try objects(model)
        let found = try objects(connection)
        guard expected.isSubset(of: found), !found.contains(where: { $0.hasPrefix("trigger ") }) else {
            throw SQLiteError(damaged: "its tables are not those of this program")
        }
    }

    private static func objects(_ connection: borrowing SQLiteConnection) throws(SQLiteError) -> Set<String> {
        let statement = try connection.prepare(
            "SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_schema")
        var objects: Set<String> = []
        while try statement.step() { objects.insert(statement.text(0)) }
        return objects
    }
}
