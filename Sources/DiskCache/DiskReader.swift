package import DNSWire

/// Read-only access to a file of answers: needs no running server, and does not disturb one.
package final class DiskReader {
    private let file: AnswerFile
    private static let page = 1_024

    /// - Throws: for a file that is not a cache of this program.
    package init(_ path: String) throws(DiskReaderError) { file = try AnswerFile(reading: path) }

    /// Calls `body` with the answers of the names below `suffix`, or with all, the newest first, until it returns
    /// false.
    ///
    /// - Returns: whether `body` was called for all.
    /// - Throws: at the end, if there were damaged answers, which are left out.
    package func forEach(below suffix: Name?, _ body: (StoredAnswer) -> Bool) throws(DiskReaderError) -> Bool {
        do throws(SQLiteError) {
            var next: Int64? = .max
            var hasDamage = false
            while let position = next {
                let (rows, following, isDamaged) = try file.page(from: position, limit: Self.page)
                hasDamage = hasDamage || isDamaged
                for answer in rows.flatMap(\.answers) where suffix.map({ answer.name.isWithin($0) }) ?? true {
                    guard body(answer) else { return false }
                }
                next = following
            }
            if hasDamage { throw SQLiteError(damaged: "some answers are damaged, and left out") }
            return true
        } catch {
            throw DiskReaderError(text: "\(error)")
        }
    }

    /// The answers of one name.
    package func answers(of name: Name) throws(DiskReaderError) -> [StoredAnswer] {
        do throws(SQLiteError) {
            return try file.answers(of: name)
        } catch {
            throw DiskReaderError(text: "\(error)")
        }
    }
}
