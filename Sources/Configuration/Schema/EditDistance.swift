/// How many single characters must be inserted, deleted, replaced or swapped with their neighbour to turn one text
/// into the other. Texts are key names and choices: a few dozen bytes.
func editDistance(_ left: String, _ right: String) -> Int {
    let left = Array(left.utf8)
    let right = Array(right.utf8)
    var beforeLast: [Int] = []
    var last = Array(0...right.count)
    for row in left.indices {
        var current = [row + 1]
        for column in right.indices {
            let replaced = last[column] + (left[row] == right[column] ? 0 : 1)
            var best = min(replaced, last[column + 1] + 1, current[column] + 1)
            if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                best = min(best, beforeLast[column - 1] + 1)
            }
            current.append(best)
        }
        beforeLast = last
        last = current
    }
    return last[right.count]
}

/// The candidate that `text` was probably meant to be: the nearest one, if at most a third of it differs.
package func nearest(to text: String, among candidates: [String]) -> String? {
    guard text.utf8.count <= 64 else { return nil }
    let ranked = candidates.map { (text: $0, distance: editDistance(text, $0)) }
    guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
    return best.distance <= max(1, max(best.text.utf8.count, text.utf8.count) / 3) ? best.text : nil
}
