/// The names of sources and policies, stored once in the file; every answer refers to them by number.
struct IdentityTable: ~Copyable {
    private let insert: SQLiteStatement
    private var numbers: [String: Int64]
    private var texts: [Int64: String]
    /// Above so many texts those to which no row refers are to be removed: each policy has another one.
    private let limit: Int
    /// The texts asked for last: most rows have the source and the policy of the row before.
    private var recent: [2 of (text: String, number: Int64)] = [("", 0), ("", 0)]

    private static let smallestLimit = 1_024

    /// - Parameter isTidy: whether rows refer to all of them.
    init(_ connection: borrowing SQLiteConnection, isTidy: Bool = false) throws(SQLiteError) {
        var numbers: [String: Int64] = [:]
        var texts: [Int64: String] = [:]
        let all = try connection.prepare("SELECT id, text FROM identity")
        while try all.step() {
            let text = all.text(1)
            guard text.utf8.count <= PolicyIdentity.longestText else {
                throw SQLiteError(damaged: "a text is too long")
            }
            let number = try all.integer(0, in: StoredRange.texts)
            numbers[text] = number
            texts[number] = text
        }
        insert = try connection.prepare("INSERT INTO identity (id, text) VALUES (?, ?)")
        self.numbers = numbers
        self.texts = texts
        limit = max(Self.smallestLimit, isTidy ? 2 * texts.count : 0)
    }

    var isLarge: Bool { texts.count > limit }

    /// The same table without the texts to which no row refers.
    ///
    /// - Throws: an error after which the whole transaction is to be rolled back.
    static func tidied(_ connection: borrowing SQLiteConnection) throws(SQLiteError) -> IdentityTable {
        try connection.execute(
            """
            DELETE FROM identity WHERE id NOT IN (
                SELECT facts >> 27 & 262143 FROM answer WHERE facts IS NOT NULL
                UNION SELECT facts >> 45 & 262143 FROM answer WHERE facts IS NOT NULL
                UNION SELECT facts6 >> 27 & 262143 FROM answer WHERE facts6 IS NOT NULL
                UNION SELECT facts6 >> 45 & 262143 FROM answer WHERE facts6 IS NOT NULL)
            """)
        return try IdentityTable(connection, isTidy: true)
    }

    func text(of number: Int64) -> String? { texts[number] }

    /// The number of a text, which is added if it is new. Inside a transaction; after one that failed the whole table is
    /// to be read again.
    mutating func number(of text: String) throws(SQLiteError) -> Int64 {
        for index in recent.indices where recent[index].number > 0 && recent[index].text == text {
            return recent[index].number
        }
        let known = numbers[text]
        let number = if let known { known } else { try add(text) }
        recent[1] = recent[0]
        recent[0] = (text, number)
        return number
    }

    private mutating func add(_ text: String) throws(SQLiteError) -> Int64 {
        let next = (texts.keys.max() ?? 0) + 1
        guard
            let number = StoredRange.texts.contains(next) ? next : StoredRange.texts.first(where: { texts[$0] == nil })
        else { throw SQLiteError(damaged: "it has too many sources and policies") }
        try insert.run([.integer(number), .text(text)])
        numbers[text] = number
        texts[number] = text
        return number
    }
}
