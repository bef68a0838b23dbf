import MediaPublishing
import TestTools
import Testing
import VideoCapturing

@testable import CaptureTool

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite struct EventProgramTests {
    private let folder = TemporaryFolder()
    private let notices = Locked<[String]>([])

    private func program(_ script: String, mode: mode_t = 0o700) throws -> EventProgram {
        let path = try folder.write(Array("#!/bin/sh\n\(script)\n".utf8), to: "on event")
        chmod(path, mode)
        return try EventProgram(path) { [notices] notice in notices.withLock { $0.append(notice) } }
    }

    private func event(_ clip: Int, path: String = "/clips/a b;'$(x).webm") -> RecordingEvent {
        RecordingEvent(
            phase: .end, clip: clip, reasons: [.signal, .motion], detail: "left", path: path,
            date: .milliseconds(1_772_373_909_120), duration: .milliseconds(12_500), bytes: 1234, error: nil)
    }

    private func lines(_ name: String) throws -> [String] {
        String(decoding: try readBytes(folder.file(name)), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test func itHasArgumentsAndAnEnvironment() throws {
        let program = try program("printf '%s\\n' \"$@\" >'\(folder.file("arguments"))'; env >'\(folder.file("env"))'")
        program.report(event(7))
        program.finish(timeout: .seconds(60))
        #expect(try lines("arguments") == ["end", "signal,motion", "/clips/a b;'$(x).webm"])
        let variables = Set(try lines("env"))
        for variable in [
            "RECORDING_EVENT=end", "RECORDING_CLIP=7", "RECORDING_REASONS=signal,motion", "RECORDING_DETAIL=left",
            "RECORDING_FILE=/clips/a b;'$(x).webm", "RECORDING_TIME=2026-03-01T14:05:09.120Z",
            "RECORDING_SECONDS=12.500", "RECORDING_BYTES=1234", "RECORDING_ERROR=",
        ] {
            #expect(variables.contains(variable), "\(variable)")
        }
        #expect(notices.withLock { $0 }.isEmpty)
    }

    /// Relative paths are of the folder in which the tool runs, and no option to a program.
    @Test func pathsAreAbsolute() {
        let arguments = EventProgram.arguments("/x", event(1, path: "-clip.webm"))
        #expect(arguments.last?.hasPrefix("/") == true && arguments.last?.hasSuffix("/-clip.webm") == true)
    }

    @Test func eachEventStartsIt() throws {
        let program = try program("echo \"$RECORDING_CLIP\" >>'\(folder.file("all"))'")
        for clip in 1...20 { program.report(event(clip)) }
        program.finish(timeout: .seconds(60))
        #expect(Set(try lines("all").compactMap(Int.init)) == Set(1...20))
    }

    /// One that hangs delays nothing but the end, up to its limit; those that wait for it are given up.
    @Test func oneThatHangsIsKilled() throws {
        let program = try program("echo $$ >>'\(folder.file("processes"))'; exec sleep 1000")
        for clip in 1...150 { program.report(event(clip)) }
        while (try? lines("processes").count) ?? 0 < 4 { usleep(10_000) }
        program.finish(timeout: .milliseconds(100))
        let processes = try lines("processes").compactMap { pid_t($0) }
        #expect(processes.count == 4)
        for process in processes { #expect(kill(process, 0) != 0) }
        let notices = notices.withLock { $0 }
        #expect(notices.contains { $0.contains("was killed") })
        #expect(notices.contains { $0.contains("100 events wait") })
        program.report(event(151))
    }

    @Test func aFailureIsReported() throws {
        let program = try program("exit 3")
        program.report(event(1))
        program.finish(timeout: .seconds(60))
        #expect(notices.withLock { $0 }.contains { $0.contains("exit code 3") })
    }

    @Test func whatCannotBeStartedIsRefused() throws {
        #expect(throws: ExitError.self) { try program("exit", mode: 0o600) }
        for path in ["/no/such/program", "no-such-program-at-all", "", "/"] {
            #expect(throws: ExitError.self) { try EventProgram(path) { _ in } }
        }
        _ = try EventProgram("true") { _ in }
    }
}
