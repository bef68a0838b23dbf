import Glibc

/// Runs a program, found by its name, and returns its standard output as text; fails when it does.
@discardableResult
package func run(_ command: String, _ arguments: String...) throws -> String {
    String(decoding: try run(command, arguments), as: UTF8.self)
}

/// Runs a program, found by its name, and returns its standard output; fails when it does.
///
/// By `posix_spawn`, since Foundation's `Process` leaks memory under AddressSanitizer.
///
/// - Parameter folder: where it runs; nil for where the tests run.
@discardableResult
package func run(_ command: String, _ arguments: [String], in folder: String? = nil) throws -> [UInt8] {
    var ends: [Int32] = [0, 0]
    try require(closingPipe(&ends) == 0, "no pipe: errno \(errno)")
    defer { close(ends[0]) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
    let line = (folder.map { ["env", "-C", $0] } ?? []) + [command] + arguments
    var words: [UnsafeMutablePointer<CChar>?] = line.map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var child = pid_t()
    let spawned = posix_spawnp(&child, line[0], &actions, nil, &words, environ)
    close(ends[1])
    try require(spawned == 0, "\(command) cannot be run; install it")
    var output: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 65536)
    while case let count = read(ends[0], &block, block.count), count > 0 { output += block[..<count] }
    var status: Int32 = 0
    try require(waitpid(child, &status, 0) == child, "\(command) cannot be waited for: errno \(errno)")
    try require(status == 0, "\(command) \(arguments.joined(separator: " ")): status \(status)")
    return output
}
