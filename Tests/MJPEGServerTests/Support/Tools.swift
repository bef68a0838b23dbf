import Foundation

/// A folder for the length of a test, and programs that run in it.
final class ToolFolder {
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "mjpeg-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func path(_ name: String) -> String { folder.appending(path: name).path }

    func read(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: folder.appending(path: name))) }

    /// Runs a program to its end. What it says goes to files, so that it never waits for its reader.
    @discardableResult
    func run(_ program: String, _ arguments: [String]) throws -> (status: Int32, output: String, errors: String) {
        try start(program, arguments).finish()
    }

    /// Starts a program; call `finish` to wait for its end.
    ///
    /// By `posix_spawn`, since Foundation's `Process` leaks memory under AddressSanitizer.
    func start(_ program: String, _ arguments: [String]) throws -> Running {
        let name = UUID().uuidString
        let files = [path("\(name).out"), path("\(name).err")]
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        for (file, descriptor) in zip(files, [STDOUT_FILENO, STDERR_FILENO]) {
            posix_spawn_file_actions_addopen(&actions, descriptor, file, O_WRONLY | O_CREAT, 0o600)
        }
        let line = ["env", "-C", folder.path, program] + arguments
        var words: [UnsafeMutablePointer<CChar>?] = line.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var identifier = pid_t()
        let number = posix_spawnp(&identifier, line[0], &actions, nil, &words, environ)
        guard number == 0 else { throw POSIXError(POSIXErrorCode(rawValue: number) ?? .EIO) }
        return Running(identifier: identifier, files: files)
    }

    final class Running {
        private let identifier: pid_t
        private let files: [String]
        /// What `waitpid` says, once the program has ended.
        private var ending: Int32?

        init(identifier: pid_t, files: [String]) {
            self.identifier = identifier
            self.files = files
        }

        var isRunning: Bool {
            wait(WNOHANG)
            return ending == nil
        }

        func end() { if isRunning { kill(identifier, SIGKILL) } }

        func finish() throws -> (status: Int32, output: String, errors: String) {
            wait(0)
            // `Data(contentsOf:)` leaks the memory of an empty file.
            let texts = try files.map { path in
                let file = try FileHandle(forReadingFrom: URL(filePath: path))
                return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
            }
            // The exit code, or the number of the signal.
            let ending = ending ?? 0
            return (ending & 0x7f == 0 ? ending >> 8 & 0xff : ending & 0x7f, texts[0], texts[1])
        }

        private func wait(_ options: Int32) {
            guard ending == nil else { return }
            var status: Int32 = 0
            if waitpid(identifier, &status, options) == identifier { ending = status }
        }
    }
}
