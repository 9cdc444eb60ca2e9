import HTTPDNS

extension [[String]] {
    /// The lines of a table of such rows, its columns two spaces apart; the last one is not padded. Control characters, which
    /// texts from services may contain, are escaped.
    public var tableText: String {
        let rows = map { $0.map { VisibleText($0).description } }
        var widths: [Int] = []
        for row in rows {
            for (column, cell) in row.dropLast().enumerated() {
                if column == widths.count { widths.append(0) }
                widths[column] = Swift.max(widths[column], cell.count)
            }
        }
        return rows.map { row in
            row.enumerated().map { column, cell in
                column == row.count - 1
                    ? cell : cell + String(repeating: " ", count: widths[column] + 2 - cell.count)
            }.joined()
        }.joined(separator: "\n")
    }
}

extension Int {
    /// Of seconds: `3 d 4 h`, `5 min 6 s`.
    var durationText: String {
        let units = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)]
        guard let first = units.firstIndex(where: { self >= $0.1 }) else { return "0 s" }
        var text = "\(self / units[first].1) \(units[first].0)"
        if first + 1 < units.count {
            text += " \(self % units[first].1 / units[first + 1].1) \(units[first + 1].0)"
        }
        return text
    }

    /// Of bytes: `64.0 MiB`, `512 B`.
    var sizeText: String {
        var (value, unit) = (Double(self), "B")
        for larger in ["KiB", "MiB", "GiB"] where value >= 1_024 { (value, unit) = (value / 1_024, larger) }
        if unit == "B" { return "\(self) B" }
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
