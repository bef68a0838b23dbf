/// The name in `names` that `name` was probably meant to be, to suggest it in an error message; nil when
/// none is near. Upper and lower case are the same.
///
/// Near means: at most a third of the letters, and at least one, inserted, left out, replaced or exchanged
/// with the neighbour.
public func nearestName(to name: String, in names: some Sequence<String>) -> String? {
    // Longer ones are no typing error, and the work grows with the square.
    let typed = Array(name.lowercased().utf8.prefix(64))
    var best: (name: String, distance: Int)?
    for candidate in names {
        let letters = Array(candidate.lowercased().utf8.prefix(64))
        let distance = editDistance(typed, letters)
        let limit = max(1, max(typed.count, letters.count) / 3)
        // A wholly different name of one or two letters is near to every other one.
        guard distance <= limit, distance < max(typed.count, letters.count) else { continue }
        if best.map({ distance < $0.distance }) ?? true { best = (candidate, distance) }
    }
    return best?.name
}

/// The least number of insertions, deletions, replacements and exchanges of neighbours (the "optimal string
/// alignment" distance).
private func editDistance(_ first: [UInt8], _ second: [UInt8]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...second.count)
    for row in 0..<first.count {
        var current = [row + 1]
        for column in 0..<second.count {
            let isSame = first[row] == second[column]
            var least = min(last[column + 1] + 1, current[column] + 1, last[column] + (isSame ? 0 : 1))
            if row > 0, column > 0, first[row] == second[column - 1], first[row - 1] == second[column] {
                least = min(least, beforeLast[column - 1] + 1)
            }
            current.append(least)
        }
        (beforeLast, last) = (last, current)
    }
    return last[second.count]
}
