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
    func start(_ program: String, _ arguments: [String]) throws -> Running {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.currentDirectoryURL = folder
        process.standardInput = FileHandle.nullDevice
        let name = UUID().uuidString
        let files = [path("\(name).out"), path("\(name).err")]
        for file in files { _ = FileManager.default.createFile(atPath: file, contents: nil) }
        process.standardOutput = FileHandle(forWritingAtPath: files[0])
        process.standardError = FileHandle(forWritingAtPath: files[1])
        try process.run()
        return Running(process: process, files: files)
    }

    struct Running {
        let process: Process
        let files: [String]

        var isRunning: Bool { process.isRunning }

        func end() { kill(process.processIdentifier, SIGKILL) }

        func finish() throws -> (status: Int32, output: String, errors: String) {
            process.waitUntilExit()
            // `Data(contentsOf:)` leaks the memory of an empty file.
            let texts = try files.map { path in
                let file = try FileHandle(forReadingFrom: URL(filePath: path))
                return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
            }
            return (process.terminationStatus, texts[0], texts[1])
        }
    }
}
