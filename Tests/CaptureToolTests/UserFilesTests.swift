import TestTools
import Testing
import VideoCapturing

@testable import CaptureTool

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// No file of a user is changed or deleted, whatever it is called and whatever is recorded next to it.
@Suite struct UserFilesTests {
    /// What is known of a name in a folder.
    private struct Entry: Equatable {
        var inode: ino_t
        var mode: mode_t
        var changed: Int64
        var content: [UInt8]
    }

    private static let signals = try? SignalWatcher(Terminal(descriptor: -1) { _ in nil })

    private static let patterns = [
        "a.webm", "a-%03d.webm", "a-%Y%m%d-%H%M%S.mp4", "a-%H.ivf", "%H%M.ts", "a%02d.mkv", "a-%F.y4m", "a.m3u8",
        "a%m%d-%02d.mov",
    ]
    private static let stills = ["a.jpg", "a-%02d.jpg", "a-%H%M%S.png", "%m%d-%d.jpg"]

    /// Names as the patterns make them, and those that almost are: each field with digits, letters or nothing.
    private func name(like pattern: String, _ random: inout SeededRandom) -> String {
        var name = ""
        var rest = pattern[...]
        while let character = rest.popFirst() {
            guard character == "%" else {
                name.append(character)
                continue
            }
            rest = rest.drop { ("0"..."9").contains($0) }
            let field = rest.popFirst()
            let letters = Bool.random(using: &random) ? "0123456789" : "01party-:+"
            let count = field == "Y" || field == "F" ? 4 : Int.random(in: 0...4, using: &random)
            name += String((0..<count).map { _ in letters.randomElement(using: &random)! })
        }
        switch Int.random(in: 0..<6, using: &random) {
        case 0: name += [".tmp", ".bak", ".indexing", "-2"].randomElement(using: &random)!
        case 1: name = name.replacing(".", with: "-\(Int.random(in: 0...20, using: &random)).")
        case 2: name = name.replacing(".m3u8", with: "\(Int.random(in: 0...3, using: &random)).ts")
        default: break
        }
        return name.isEmpty || name == "." || name == ".." ? "x" : name
    }

    private func entries(_ folder: TemporaryFolder, _ names: Set<String>) throws -> [String: Entry] {
        var found: [String: Entry] = [:]
        for name in names {
            var status = stat()
            guard lstat(folder.file(name), &status) == 0 else { continue }
            let isFile = status.st_mode & S_IFMT == S_IFREG
            found[name] = Entry(
                inode: status.st_ino, mode: status.st_mode, changed: Int64(status.st_mtim.tv_nsec),
                content: isFile ? try folder.read(name) : [])
        }
        return found
    }

    /// Files of the user: old, new, empty, linked.
    private func makeFiles(_ folder: TemporaryFolder, _ random: inout SeededRandom) throws -> Set<String> {
        var names: Set<String> = []
        for _ in 0..<30 {
            let pattern = (UserFilesTests.patterns + UserFilesTests.stills).randomElement(using: &random)!
            let name = name(like: pattern, &random)
            guard names.insert(name).inserted else { continue }
            switch Int.random(in: 0..<8, using: &random) {
            case 0: symlink("nowhere", folder.file(name))
            case 1: symlink(names.first!, folder.file(name))
            case 2: mkdir(folder.file(name), 0o700)
            case 3: try folder.write([], to: name)
            default: try folder.write(Array("mine: \(name)".utf8), to: name)
            }
            var times = [timespec(tv_sec: 1_000_000, tv_nsec: 7), timespec(tv_sec: 1_000_000, tv_nsec: 7)]
            utimensat(AT_FDCWD, folder.file(name), &times, AT_SYMLINK_NOFOLLOW)
        }
        return names
    }

    private func words(_ folder: TemporaryFolder, _ random: inout SeededRandom) -> [String] {
        var words = ["--source", "noise", "--size", "32x32", "--fps", "max", "--frames", "12", "--quiet"]
        for _ in 0..<Int.random(in: 1...2, using: &random) {
            let pattern = (UserFilesTests.patterns + UserFilesTests.stills).randomElement(using: &random)!
            words += ["-o", folder.file(pattern)]
        }
        if Bool.random(using: &random) {
            words += ["--split", "5kB", "--keep", "\(Int.random(in: 3...4, using: &random))"]
        }
        if Bool.random(using: &random) { words += ["--burst", "3"] }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: words += ["--stats-file", folder.file(name(like: "a-%H.webm", &random))]
        case 1: words += ["-o", "rtp://127.0.0.1:9?sdp=\(folder.file(name(like: "a-%H.webm", &random)))"]
        default: break
        }
        return words
    }

    @Test func noFileOfTheUserIsChangedOrDeleted() throws {
        let signals = try #require(UserFilesTests.signals)
        let null = open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { close(null) }
        let terminal = Terminal(descriptor: null) { _ in nil }
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededRandom(state: seed)
        var successes = 0
        // By chance most runs of a round may be refused, which proves little: then there are more rounds.
        for round in 0..<600 where round < 60 || successes <= 20 {
            let folder = TemporaryFolder()
            let names = try makeFiles(folder, &random)
            let words = words(folder, &random)
            let before = try entries(folder, names)
            // Two runs, since the second finds what the first has left.
            for _ in 0..<2 {
                guard let plan = try? plan(words) else { continue }
                var run = CaptureRun(plan: plan, terminal: terminal, signals: signals)
                do throws(ExitError) {
                    _ = try run.run()
                    successes += 1
                } catch {}
            }
            let after = try entries(folder, names)
            for (name, entry) in before { #expect(after[name] == entry, "\(name) after \(words), seed \(seed)") }
        }
        #expect(successes > 20)
    }
}
