/// Whether the stated lengths of a stream's parts are believed: once they have been right, until one is wrong. Padding
/// counts as wrong, since it may come late.
struct LengthTrust: Hashable {
    /// How often a length must have been right.
    private static let proof = 2

    private var agreements = 0
    private var isLost = false

    var isEarned: Bool { !isLost && agreements >= LengthTrust.proof }

    mutating func note(stated: Int, found: Int) {
        if stated == found {
            agreements = min(agreements + 1, LengthTrust.proof)
        } else {
            isLost = true
        }
    }

    mutating func lose() { isLost = true }
}
