/// What a test cannot go on without has failed.
package struct ToolFailure: Error, CustomStringConvertible {
    package let description: String
}

/// For calls of the system that must not fail here.
func require(_ condition: Bool, _ description: @autoclosure () -> String) throws {
    if !condition { throw ToolFailure(description: description()) }
}
