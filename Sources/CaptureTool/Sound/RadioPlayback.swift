import AudioRendering
import RadioPlayer
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// `capturer-demo play http://radio:8000/stream.mp3`: a radio on a loudspeaker, with a status line and keys.
struct RadioPlayback {
    /// What `play` needs to play radios.
    ///
    /// - Parameter loudspeaker: makes the loudspeaker of a device's name.
    static func command(loudspeaker: @escaping @Sendable (String) -> any AudioRenderer) -> RadioCommand {
        RadioCommand(
            option: soundOption, discussion: discussion,
            isRadio: { input, values, isStopped in isRadio(input, values, isStopped: isStopped) },
            play: { (input, values, context) throws(ExitError) in
                try RadioPlayback(input, values, context, loudspeaker).run()
            })
    }

    /// Where the sound goes.
    private static let soundOption = OptionDescription(
        "sound", .text("DEVICE"), "where a radio is played: default, an ALSA device, wav:PATH or null",
        default: "default")

    private static let discussion = """
        A radio is MP3 over http or https, or the path of a playlist (.pls, .m3u) that names one;
        other files must have pictures. Of the options a radio takes
        --sound, --force, --duration, --login, --insecure, --ca-file, --stats and --quiet.
        \(keys)
        """

    /// What the keys of the terminal do.
    static let keys = "Keys: space pauses, left and right seek in a file, up and down set the volume, q ends."

    private let player: RadioPlayer
    private let terminal: Terminal
    private let signals: SignalWatcher
    private let limit: Duration?
    private let isQuiet: Bool
    private let style: StatisticsStyle
    private let wish = Locked(Wish())

    /// What a person or a signal wants.
    private struct Wish: Sendable {
        var isEnd = false
        var keys = KeySequence()
    }

    /// Whether an input is a radio: by `--sound`, by its extension, as a playlist on this machine, or by what the server says, which is awaited until
    /// `isStopped`.
    static func isRadio(_ input: String, _ values: OptionValues, isStopped: () -> Bool = { false }) -> Bool {
        if Playlist.isPath(input) { return true }
        guard let scheme = urlScheme(of: input), ["http", "https"].contains(scheme) else { return false }
        let path = input.prefix { $0 != "?" && $0 != "#" }.lowercased()
        if values.contains("sound") || [".mp3", ".pls", ".m3u"].contains(where: { path.hasSuffix($0) }) { return true }
        return RadioProbe.isRadio(
            input, configuration: (try? configuration(input, values)) ?? RadioConfiguration(), isStopped: isStopped)
    }

    /// How a radio is received, as the options say.
    private static func configuration(_ input: String, _ values: OptionValues) throws(OptionError) -> RadioConfiguration
    {
        var configuration = RadioConfiguration()
        if let login = try values.login(for: input) {
            configuration.credential = .init(user: login.name, password: login.password)
        }
        if let path = values["ca-file"] { configuration.trust = .authorities(path: path) }
        if values.contains("insecure") { configuration.trust = .acceptsSelfSigned }
        return configuration
    }

    private init(
        _ input: String, _ values: OptionValues, _ context: ToolContext,
        _ loudspeaker: (String) -> any AudioRenderer
    ) throws(ExitError) {
        let known = ["sound", "duration", "login", "quiet", "stats", "force", "ca-file", "insecure"]
        if let other = values.names.first(where: { !known.contains($0) }) {
            throw ExitError(.usage, "--\(other): has no effect on a radio; leave it out.")
        }
        terminal = context.terminal
        isQuiet = values.contains("quiet")
        let configuration: RadioConfiguration
        do throws(OptionError) {
            configuration = try RadioPlayback.configuration(input, values)
            limit = try values.time("duration")
            style = try values.choice("stats", StatisticsStyle.allCases.map { ($0.rawValue, $0) }) ?? .text
        } catch {
            throw ExitError(error)
        }
        let renderer = try RadioPlayback.renderer(
            values["sound"] ?? "default", values.contains("force"), loudspeaker)
        signals = try context.watchingSignals()
        player = RadioPlayer(input, renderer: renderer, configuration: configuration)
    }

    /// The renderer of `--sound`.
    private static func renderer(
        _ text: String, _ force: Bool, _ loudspeaker: (String) -> any AudioRenderer
    ) throws(ExitError) -> any AudioRenderer {
        if text == "null" { return NullRenderer() }
        if text.hasPrefix("wav:") {
            let path = String(text.dropFirst(4))
            guard !path.isEmpty else { throw ExitError(.usage, "--sound wav: name the file, as in wav:radio.wav.") }
            guard path != "-" else {
                throw ExitError(
                    .usage, "--sound wav:-: name a file; to standard output it is capturer-demo --audio URL -o wav:-.")
            }
            guard force || access(path, F_OK) != 0 else {
                throw ExitError(.usage, "\(path): the file exists; add --force to overwrite it.")
            }
            return WAVRenderer(path: path)
        }
        return loudspeaker(text)
    }

    /// Plays until the end, an error, the limit, Ctrl-C or the key q.
    func run() throws(ExitError) -> ExitStatus {
        signals.watch { [wish] in wish.withLock { $0.isEnd = true } }
        terminal.keyboard.begin(takesSequences: true) { [wish, player, terminal] key in
            guard let action = wish.withLock({ $0.keys.take(key) }) else { return }
            do throws(RadioError) {
                if action == .help { return terminal.writeLine(RadioPlayback.keys) }
                try RadioPlayback.obey(action, player, wish)
            } catch {
                terminal.writeLine(error.message)
            }
        }
        defer { terminal.keyboard.end() }
        player.start()
        var shown = Shown()
        let start = MonotonicClock().now
        reportJSON("start", after: .zero)
        while !player.isIdle, !wish.withLock({ $0.isEnd }) {
            if let limit, MonotonicClock().now - start >= limit { break }
            report(&shown, after: MonotonicClock().now - start)
            wait(.milliseconds(100))
        }
        player.stop()
        if style == .text { report(&shown, after: MonotonicClock().now - start) }
        terminal.clearStatus()
        let hasPlayed = player.status.progress > .zero
        let error = player.error.map { ExitError(playing: $0, hasPlayed: hasPlayed) }
        // As in a capture, programs get what ends a stream that has begun as an object, before the last line.
        if let error, style != .json || !hasPlayed { throw error }
        if let error { terminal.writeLine(StatisticsJSON.error(error.message)) }
        reportJSON("summary", after: MonotonicClock().now - start)
        if !isQuiet, style == .text { terminal.writeLine(RadioStatusText.summary(player.status)) }
        return error?.status ?? .success
    }

    private func reportJSON(_ event: String, after elapsed: Duration) {
        guard !isQuiet, style == .json else { return }
        terminal.writeLine(RadioStatusText.json(event, player.status, url: player.name, elapsed: elapsed))
    }

    private func wait(_ time: Duration) {
        MonotonicClock().wait(until: MonotonicClock().now.advanced(by: time), or: ManualResetEvent())
    }

    private static func obey(
        _ action: KeySequence.Action, _ player: RadioPlayer, _ wish: Locked<Wish>
    ) throws(RadioError) {
        switch action {
        case .help: break
        case .quit: wish.withLock { $0.isEnd = true }
        case .pause: player.togglePause()
        case .louder: player.volume = min(2, player.volume + 0.1)
        case .quieter: player.volume -= 0.1
        case .forward: try player.seek(to: player.status.progress + .seconds(10))
        case .backward: try player.seek(to: max(.zero, player.status.progress - .seconds(10)))
        }
    }

    // MARK: - Reporting

    /// The last report.
    private struct Shown {
        var title: String?
        var station: String?
        var connections: UInt64 = 0
        var lastError: RadioError?
        var lastSecond: Int64 = -1
        var lastState: RadioPlayer.State?
    }

    private func report(_ shown: inout Shown, after elapsed: Duration) {
        let status = player.status
        guard !isQuiet, style != .none else { return }
        if style == .json {
            // By the clock: a player that waits for sound has a status, too.
            let second = elapsed.components.seconds
            guard second != shown.lastSecond || status.state != shown.lastState else { return }
            shown.lastSecond = second
            shown.lastState = status.state
            return reportJSON("status", after: elapsed)
        }
        if let name = status.information?.name, name != shown.station {
            shown.station = name
            terminal.writeLine("Station: \(name)", limit: 300)
        }
        if let title = status.title, title != shown.title {
            shown.title = title
            terminal.writeLine("\(clockText(status.progress)) \(title)", limit: 300)
        }
        // What ends it is reported as the error of the program.
        if let error = status.statistics.lastError, error != shown.lastError, player.error == nil {
            shown.lastError = error
            terminal.writeLine("\(clockText(status.progress)) Connecting again: \(error.message)", limit: 500)
        }
        guard terminal.isInteractive else { return }
        let volume = player.volume
        terminal.rewriteStatus { columns, _ in RadioStatusText.line(status, volume: volume, columns: columns) }
    }
}

extension ExitError {
    /// A radio that cannot be played, with the exit code that a capture of it has.
    ///
    /// - Parameter hasPlayed: whether something was heard: until then the input is at fault.
    init(playing error: RadioError, hasPlayed: Bool) {
        let status: ExitStatus =
            switch error.category {
            // The loudspeaker or the file of `--sound`; the system's code gives the reason.
            case .unavailable where error.code == .rendererCreationFailed:
                switch error.systemError {
                case ENOENT, ENODEV, ENXIO: .noInput
                case EACCES, EPERM, EROFS: .noPermission
                case EBUSY: .busy
                default: .inputOutput
                }
            case .notFound, .unsupported, .invalidData: hasPlayed ? .inputOutput : .noInput
            case .disconnected where error.code == .networkConnectionFailed && !hasPlayed: .noInput
            case .usage: .usage
            case .noPermission: .noPermission
            case .busy: .busy
            case .unavailable: .unavailable
            default: .inputOutput
            }
        self.init(status, "\(error)")
    }
}
