/// What ends a check before its end.
enum Finding: Error {
    /// The rule is broken; what was seen, as a sentence.
    case broken(String)
    /// The rule says nothing about this capture; why, as a sentence.
    case notApplicable(String)
}

/// Throws a broken rule unless `condition` holds.
func require(_ condition: Bool, _ seen: @autoclosure () -> String) throws {
    if !condition { throw Finding.broken(seen()) }
}
