import TestTools
import VideoCapturing
import XTestTools

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A real Wayland compositor without a screen: sway, drawing in software, with a person in front of it who sees pixels
/// (grim) and types (wtype).
///
/// sway refuses root, so root's tests run it as another user. The kernel ends it with the thread that has started it.
final class Compositor {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let width: Int
    let height: Int
    let folder: String
    /// What `WAYLAND_DISPLAY` is to be.
    private(set) var name = ""
    private var controlSocket = ""
    private var sway: Child?
    /// A keyboard that is always there: a program hears nothing of one that has gone before it has asked for its keys.
    private var keyboard: Child?

    /// - Parameter scale: how many pixels a desktop's unit has in each direction.
    init(width: Int = 320, height: Int = 200, scale: Int = 1) throws {
        (self.width, self.height) = (width, height)
        folder = "/tmp/sway-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        mkdir(folder, 0o700)
        let file = fopen("\(folder)/config", "w")
        fputs(
            """
            output HEADLESS-1 resolution \(width)x\(height) scale \(scale)
            output * bg #204060 solid_color
            default_border none
            floating_minimum_size 1 x 1
            focus_follows_mouse no
            xwayland disable
            for_window [app_id=".*"] floating enable, border none, move absolute position 0 0

            """, file)
        fclose(file)
        if getuid() == 0 { try run("chown", ["-R", "65534:65534", folder]) }
        try start()
    }

    deinit {
        end(SIGTERM)
        keyboard?.end(SIGTERM)
        _ = try? run("rm", ["-rf", folder])
    }

    /// Ends it without a warning, as a crash would.
    func crash() { end(SIGKILL) }

    /// Starts it again, under the same name.
    func restart() throws {
        end(SIGTERM)
        try start()
    }

    func hang() { signal(SIGSTOP) }
    func resume() { signal(SIGCONT) }

    /// What programs need to find it.
    var environment: [String: String?] {
        ["XDG_RUNTIME_DIR": folder, "WAYLAND_DISPLAY": name, "DISPLAY": nil, "SDL_VIDEODRIVER": nil]
    }

    // MARK: The person

    /// What is on the screen, without the pointer.
    func pixels() throws -> ScreenPixels {
        let image = try command("grim", ["-s", "1", "-t", "ppm", "-"])
        // P6, width and height, 255: three lines.
        var lines = image.split(separator: UInt8(ascii: "\n"), maxSplits: 3, omittingEmptySubsequences: false)
        guard lines.count == 4 else { throw Failure(description: "grim: \(image.count) bytes") }
        let size = String(decoding: lines[1], as: UTF8.self).split(separator: " ").compactMap { Int($0) }
        let samples = lines.removeLast()
        guard size.count == 2, samples.count == size[0] * size[1] * 3 else {
            throw Failure(description: "grim: \(size), \(samples.count) bytes")
        }
        let words = (0..<size[0] * size[1]).map { index -> UInt32 in
            let start = samples.startIndex + index * 3
            return UInt32(samples[start]) << 16 | UInt32(samples[start + 1]) << 8 | UInt32(samples[start + 2])
        }
        return ScreenPixels(width: size[0], height: size[1], words: words)
    }

    /// Presses a key, by its name in `xkbcommon-keysyms.h`, which the window with the focus hears.
    func type(_ key: String, with modifier: String? = nil) throws {
        let held = modifier.map { ["-M", $0] } ?? []
        try command("wtype", held + ["-k", key] + (modifier.map { ["-m", $0] } ?? []))
    }

    /// Has the compositor do something, as its user would by keys.
    func perform(_ words: String) throws { try command("swaymsg", ["-s", controlSocket, "-q", words]) }

    /// The titles of the windows.
    func windowTitles() throws -> [String] {
        let answer = try command("swaymsg", ["-s", controlSocket, "-t", "get_tree", "-r"])
        let tree = String(decoding: answer, as: UTF8.self)
        return tree.split(separator: "\n").compactMap { line in
            let words = line.split(separator: "\"")
            return words.count >= 4 && words[1] == "name" && words[3].hasPrefix("test ") ? String(words[3]) : nil
        }
    }

    @discardableResult
    private func command(_ name: String, _ arguments: [String]) throws -> [UInt8] {
        try run("env", ["XDG_RUNTIME_DIR=\(folder)", "WAYLAND_DISPLAY=\(self.name)", name] + arguments)
    }

    // MARK: Life

    private func start() throws {
        for entry in ["wayland-1", "wayland-1.lock", controlSocket] where !entry.isEmpty {
            unlink(entry.hasPrefix("/") ? entry : "\(folder)/\(entry)")
        }
        controlSocket = "\(folder)/control"
        sway = try Child(command)
        name = "wayland-1"
        let socket = controlSocket
        let isThere = eventually {
            access("\(folder)/wayland-1", F_OK) == 0 && access(socket, F_OK) == 0
                && (try? command("swaymsg", ["-s", socket, "-t", "get_version"])) != nil
        }
        guard isThere else {
            throw Failure(description: "sway did not start; `make setup-tests` installs it, grim and wtype")
        }
        keyboard?.end(SIGTERM)
        // Types something when no test is running any more.
        keyboard = try Child(
            ["setpriv", "--pdeathsig", "TERM", "env", "XDG_RUNTIME_DIR=\(folder)", "WAYLAND_DISPLAY=\(name)"]
                + ["wtype", "-s", "3600000", "-k", "Shift_L"])
    }

    private var command: [String] {
        let user = getuid() == 0 ? ["--reuid", "65534", "--regid", "65534", "--clear-groups"] : []
        return ["setpriv", "--pdeathsig", "TERM"] + user + [
            "env", "-u", "DISPLAY", "-u", "WAYLAND_DISPLAY", "HOME=\(folder)", "XDG_RUNTIME_DIR=\(folder)",
            "SWAYSOCK=\(controlSocket)", "WLR_BACKENDS=headless", "WLR_LIBINPUT_NO_DEVICES=1", "WLR_RENDERER=pixman",
            "sway", "-c", "\(folder)/config",
        ]
    }

    private func signal(_ number: Int32) { sway?.signal(number) }

    private func end(_ number: Int32) {
        signal(SIGCONT)
        sway?.end(number)
    }
}

/// A program that the kernel ends with the thread that has started it and waits for it.
private final class Child: Sendable {
    private let life = Locked<(processID: pid_t?, hasEnded: Bool)>((nil, false))

    init(_ words: [String]) throws {
        let life = life
        try CaptureThread(name: "child") {
            let processID = spawn(words)
            life.withLock { $0 = (processID, processID == nil) }
            life.wakeAll()
            guard let processID else { return }
            var information = siginfo_t()
            // The process stays until the lock is held, so its number cannot be another's when a signal is sent.
            while waitid(P_PID, UInt32(processID), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
            life.withLock { life in
                waitpid(processID, nil, 0)
                life.hasEnded = true
            }
            life.wakeAll()
        }
        life.wait { $0.hasEnded || $0.processID != nil ? () : nil }
    }

    func signal(_ number: Int32) {
        life.withLock { life in
            if let processID = life.processID, !life.hasEnded { _ = kill(processID, number) }
        }
    }

    /// By force if it does not end when it is told to.
    func end(_ number: Int32) {
        for number in [number, SIGKILL] {
            signal(number)
            let limit = MonotonicClock().now.advanced(by: .seconds(2))
            if life.wait(until: limit, for: { $0.hasEnded ? () : nil }) != nil { return }
        }
    }
}

private func spawn(_ words: [String]) -> pid_t? {
    var strings = words.map { strdup($0) }
    strings.append(nil)
    defer { for string in strings { free(string) } }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for descriptor in 0...2 as ClosedRange<Int32> {
        posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
    }
    // Capture threads hold signals back, and what they start would do so, too.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var processID = pid_t()
    return posix_spawnp(&processID, words[0], &actions, &attributes, strings, environ) == 0 ? processID : nil
}
