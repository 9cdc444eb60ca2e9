/// The texts of sources or policies, kept once in the file and named by number in every answer.
struct IdentityTable: ~Copyable {
    private let insert: SQLiteStatement
    private var numbers: [String: Int64]
    private var texts: [Int64: String]
    /// What was last asked for: mostly it is asked for again.
    private var last: (text: String, number: Int64)?

    /// - Parameters:
    ///   - select: reads number and text of all.
    ///   - insert: adds number and text.
    init(_ connection: borrowing SQLiteConnection, select: StaticString, insert: StaticString) throws(SQLiteError) {
        var numbers: [String: Int64] = [:]
        var texts: [Int64: String] = [:]
        let all = try connection.prepare(select)
        while try all.step() {
            let text = all.text(1)
            guard text.utf8.count <= PolicyIdentity.longestText else {
                throw SQLiteError(damaged: "a text is too long")
            }
            let number = try all.integer(0, in: StoredRange.ids)
            numbers[text] = number
            texts[number] = text
        }
        self.insert = try connection.prepare(insert)
        self.numbers = numbers
        self.texts = texts
    }

    func text(of number: Int64) -> String? { texts[number] }

    /// The number of a text, which is added if it is new. Inside a transaction; after one that failed the whole table is
    /// to be read again.
    mutating func number(of text: String) throws(SQLiteError) -> Int64 {
        if let last, last.text == text { return last.number }
        if let known = numbers[text] {
            last = (text, known)
            return known
        }
        let number = (texts.keys.max() ?? 0) + 1
        try insert.run([.integer(number), .text(text)])
        numbers[text] = number
        texts[number] = text
        return number
    }
}
