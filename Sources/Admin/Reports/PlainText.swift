import HTTPDNS

/// How reports are written for people.
public enum PlainText {
    /// The lines of a table, its columns two spaces apart; the last one is not padded. Control characters, which texts
    /// from services may contain, are escaped.
    public static func lines(_ rows: [[String]]) -> String {
        let rows = rows.map { $0.map { VisibleText($0).description } }
        var widths: [Int] = []
        for row in rows {
            for (column, cell) in row.dropLast().enumerated() {
                if column == widths.count { widths.append(0) }
                widths[column] = max(widths[column], cell.count)
            }
        }
        return rows.map { row in
            row.enumerated().map { column, cell in
                column == row.count - 1
                    ? cell : cell + String(repeating: " ", count: widths[column] + 2 - cell.count)
            }.joined()
        }.joined(separator: "\n")
    }

    /// `3 d 4 h`, `5 min 6 s`.
    static func duration(_ seconds: Int) -> String {
        let units = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)]
        guard let first = units.firstIndex(where: { seconds >= $0.1 }) else { return "0 s" }
        var text = "\(seconds / units[first].1) \(units[first].0)"
        if first + 1 < units.count {
            text += " \(seconds % units[first].1 / units[first + 1].1) \(units[first + 1].0)"
        }
        return text
    }

    /// `64.0 MiB`, `512 B`.
    static func size(_ bytes: Int) -> String {
        var (value, unit) = (Double(bytes), "B")
        for larger in ["KiB", "MiB", "GiB"] where value >= 1_024 { (value, unit) = (value / 1_024, larger) }
        if unit == "B" { return "\(bytes) B" }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(unit)"
    }
}

/// A count with its noun, for people: `1 answer`, `2 answers`.
///
/// - Parameter several: the plural, where it is not the singular with an s.
public func counted(_ count: Int, _ one: String, _ several: String? = nil) -> String {
    "\(count) \(count == 1 ? one : several ?? one + "s")"
}
