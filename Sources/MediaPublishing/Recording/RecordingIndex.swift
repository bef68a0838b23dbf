public import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What the files of a recorder show, and when: those of ``SplitOutput`` and ``TriggeredOutput``, of earlier runs too.
///
/// ```swift
/// let index = try RecordingIndex("door-%Y%m%d-%H%M%S.webm", access: access)
/// publisher.recording.setIndex(index)
/// …
/// let hour = index.recordings(from: now - .seconds(3600), to: now)
/// try index.clip(from: moment, duration: .seconds(20)).write(to: "clip.webm")
/// ```
/// Outputs whose files have this pattern report each of them. A hidden file in the folder of the recordings, with the pattern
/// in its name, keeps that. It only saves time: a recording that it does not describe, or not as it is now, is opened, and described
/// again. Only the reasons of events are lost with it. Safe to use from any thread.
public final class RecordingIndex: Sendable {
    /// The path of the files, with fields for a number or the time.
    public let pattern: String
    let access: RecordingAccess
    private let files: SplitFiles
    private let path: String
    private let state = Locked(State())
    /// Held by the thread that looks at the folder. Whether the file was read.
    private let scan = Locked(false)
    /// Held by the thread that writes the file. The lines that were added since the folder was looked at.
    private let linesSinceLook = Locked(0)

    private struct State {
        /// By the names of the files.
        var entries: [String: IndexEntry] = [:]
        /// Files that are being written, by their names.
        var ongoing: [String: Recording] = [:]
        /// The lines of the file that no longer describe a recording.
        var staleLines = 0

        /// Whether nothing was reported of a file meanwhile.
        func isAsBefore(_ name: String, _ entry: IndexEntry?) -> Bool {
            ongoing[name] == nil && entries[name] == entry
        }
    }

    /// How long one call describes files that the index does not know.
    private static let scanTime = Duration.seconds(1)
    /// By how much the end of a file and the begin of the next may overlap by estimation.
    private static let largestError = Duration.milliseconds(1500)
    /// By how much the start of a file that was cut may be estimated wrongly: packets that were not written yet are missing.
    private static let largestCut = Duration.seconds(30)
    /// How many lines may be stale before the file is written again, in addition to as many as are not.
    private static let maximumStaleLines = 200
    private static let maximumLinesSinceLook = 2000

    /// The index of the files of a pattern; it reads nothing yet.
    ///
    /// - Parameters:
    ///   - pattern: a path as of ``SplitOutput``.
    ///   - access: how files are read and written.
    /// - Throws: `OptionError` for a pattern that cannot be used.
    public init(_ pattern: String, access: RecordingAccess) throws(OptionError) {
        self.pattern = pattern
        self.access = access
        files = try SplitFiles(pattern)
        let name = pattern.split(separator: "/", omittingEmptySubsequences: false).last.map(String.init) ?? ""
        path = "\(files.folder).\(name).index"
    }

    // MARK: Recordings

    /// The recordings of a time, the earliest first. It reads the folder, and for up to a second those files that the index
    /// does not know.
    ///
    /// - Parameters:
    ///   - from: the begin, since 1970; nil for all from the earliest.
    ///   - to: the end, since 1970; nil for all up to now.
    public func recordings(from: Duration? = nil, to: Duration? = nil) -> [Recording] {
        list(from: from, to: to).recordings
    }

    /// As ``recordings(from:to:)``.
    ///
    /// - Returns: the recordings, and how many files the index does not know yet: call it again for these.
    public func list(from: Duration? = nil, to: Duration? = nil) -> (recordings: [Recording], unknownCount: Int) {
        let (found, unknownCount) = scan.withLock { update(&$0) }
        var recordings = found.sorted { ($0.start, $0.path) < ($1.start, $1.path) }
        // The start of a file that only its contents describe may be estimated slightly too early.
        for index in recordings.indices.dropFirst() where recordings[index].reasons.isEmpty {
            let overlap = recordings[index - 1].end - recordings[index].start
            if overlap > .zero, overlap < RecordingIndex.largestError { recordings[index].start += overlap }
        }
        return (
            recordings.filter { recording in
                recording.end > from ?? .zero && to.map { recording.start < $0 } ?? true
            }, unknownCount
        )
    }

    private func update(_ hasLoaded: inout Bool) -> (recordings: [Recording], unknownCount: Int) {
        if !hasLoaded { load() }
        hasLoaded = true
        let (known, ongoing) = state.withLock { ($0.entries, $0.ongoing) }
        // The entries of the files stay while their disk is away.
        guard let existing = files.readFolder() else { return ([], 0) }
        let deadline = MonotonicClock().now + RecordingIndex.scanTime
        var recordings: [Recording] = []
        var unknownCount = 0
        var names: Set<String> = []
        // The newest first, since they are asked for most.
        for file in existing.reversed() {
            let name = String(file.path.dropFirst(files.folder.count))
            names.insert(name)
            if var recording = ongoing[name] {
                recording.bytes = file.bytes
                recording.duration = max(.zero, wallClockTime() - recording.start)
                recordings.append(recording)
            } else if let entry = known[name], entry.describes(file) {
                if let recording = entry.recording { recordings.append(recording) }
            } else if MonotonicClock().now < deadline {
                let entry = describe(file, known[name])
                add(entry, as: name) { $0.isAsBefore(name, known[name]) }
                if let recording = entry.recording { recordings.append(recording) }
            } else {
                unknownCount += 1
            }
        }
        linesSinceLook.withLock { $0 = 0 }
        state.withLock { state in
            for (name, entry) in known where !names.contains(name) && state.isAsBefore(name, entry) {
                state.entries[name] = nil
                state.staleLines += 1
            }
        }
        rewriteIfStale()
        return (recordings, unknownCount)
    }

    /// Opens a file to learn what it shows. The reasons of one that was cut are known from its begin.
    private func describe(_ file: SplitFiles.File, _ known: IndexEntry?) -> IndexEntry {
        var entry = IndexEntry(bytes: file.bytes, changed: file.changed, recording: nil)
        guard let duration = try? access.open(file.path).measureDuration(), duration > .zero else { return entry }
        var recording = Recording(
            path: file.path, start: .nanoseconds(file.changed) - duration, duration: duration, bytes: file.bytes)
        if let begun = known?.recording,
            abs((begun.start - recording.start).nanoseconds) < RecordingIndex.largestCut.nanoseconds
        {
            (recording.start, recording.reasons, recording.detail) = (begun.start, begun.reasons, begun.detail)
        }
        entry.recording = recording
        return entry
    }

    // MARK: Reports of outputs

    /// Called when a file has got its first packet.
    func begin(_ recording: Recording) {
        guard let name = name(of: recording.path) else { return }
        state.withLock { $0.ongoing[name] = recording }
        // The file says all but this.
        if !recording.reasons.isEmpty { add(IndexEntry(begunBy: recording), as: name, isSynced: true) }
    }

    /// Called when a file is closed, whole or not.
    func end(_ recording: Recording) {
        guard let name = name(of: recording.path) else { return }
        var status = stat()
        let isThere = lstat(recording.path, &status) == 0 && recording.duration > .zero
        state.withLock { $0.ongoing[name] = nil }
        guard isThere else { return }
        var recording = recording
        recording.bytes = Int64(status.st_size)
        add(
            IndexEntry(bytes: recording.bytes, changed: nanoseconds(of: status.st_mtim), recording: recording), as: name
        )
        // Without requests for the list nothing else notices the files that are gone.
        let isDue = linesSinceLook.withLock { lines in
            defer { if lines > RecordingIndex.maximumLinesSinceLook { lines = 0 } }
            return lines > RecordingIndex.maximumLinesSinceLook
        }
        // Not on the thread that writes the recording.
        if isDue { _ = try? CaptureThread(name: "index") { [self] in _ = recordings() } }
    }

    /// The name of a file of this pattern; nil for another one.
    private func name(of path: String) -> String? {
        guard path.hasPrefix(files.folder) else { return nil }
        let name = path.dropFirst(files.folder.count)
        return files.number(in: Array(name.utf8)) == nil ? nil : String(name)
    }

    // MARK: The file

    /// Adds a line to the file, in one write. A line that a full disk or a power failure cuts describes nothing.
    ///
    /// - Parameters:
    ///   - isSynced: whether it is on the disk afterwards.
    ///   - condition: whether the line is added.
    private func add(
        _ entry: IndexEntry, as name: String, isSynced: Bool = false, if condition: (State) -> Bool = { _ in true }
    ) {
        linesSinceLook.withLock { lines in
            let isWanted = state.withLock { state in
                guard condition(state) else { return false }
                if state.entries.updateValue(entry, forKey: name) != nil { state.staleLines += 1 }
                return true
            }
            guard isWanted else { return }
            lines += 1
            let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o644)
            guard descriptor >= 0 else { return }
            defer { close(descriptor) }
            // After a line that was cut.
            let line = Array(("\n" + entry.line(name)).utf8)
            _ = write(descriptor, line, line.count)
            if isSynced { fdatasync(descriptor) }
        }
    }

    /// With the file held, so that no line is added meanwhile.
    private func load() { linesSinceLook.withLock { _ in loadLines() } }

    private func loadLines() {
        guard let text = RecordingIndex.contents(of: path) else { return }
        var found: [String: IndexEntry] = [:]
        var staleLines = 0
        for line in text.split(separator: UInt8(ascii: "\n")) {
            guard let (name, entry) = IndexEntry.parse(line, folder: files.folder),
                files.number(in: Array(name.utf8)) != nil
            else {
                staleLines += 1
                continue
            }
            if found.updateValue(entry, forKey: name) != nil { staleLines += 1 }
        }
        state.withLock { state in
            state.entries.merge(found) { new, _ in new }
            state.staleLines = staleLines
        }
    }

    /// Writes the file without stale lines once there are many, whole or not at all.
    private func rewriteIfStale() {
        guard state.withLock({ $0.staleLines > RecordingIndex.maximumStaleLines + $0.entries.count }) else { return }
        linesSinceLook.withLock { _ in
            let text = state.withLock { state in
                state.staleLines = 0
                return state.entries.sorted { $0.key < $1.key }.map { $0.value.line($0.key) + "\n" }.joined()
            }
            let temporary = "\(path).\(getpid())"
            // A process of that number was killed.
            unlink(temporary)
            let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
            guard descriptor >= 0 else { return }
            let bytes = Array(text.utf8)
            let isWhole = write(descriptor, bytes, bytes.count) == bytes.count && fsync(descriptor) == 0
            close(descriptor)
            if !isWhole || rename(temporary, path) != 0 { unlink(temporary) }
        }
    }

    /// The most that is read of a file: more than 100,000 recordings.
    private static let maximumBytes = 64 << 20

    private static func contents(of path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= maximumBytes
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var count = 0
        while count < bytes.count {
            let result = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress! + count, $0.count - count) }
            guard result > 0 else { break }
            count += result
        }
        return Array(bytes[..<count])
    }
}

/// A line of the index: what a file showed when it had a size and a time of its last change.
struct IndexEntry: Sendable, Hashable {
    var bytes: Int64
    /// In nanoseconds since 1970.
    var changed: Int64
    /// Nil for a file that shows nothing.
    var recording: Recording?

    /// Of a file that is not closed: it describes none as it is.
    init(begunBy recording: Recording) {
        self.init(bytes: 0, changed: 0, recording: recording)
        self.recording?.duration = max(recording.duration, .nanoseconds(1))
    }

    init(bytes: Int64, changed: Int64, recording: Recording?) {
        self.bytes = bytes
        self.changed = changed
        self.recording = recording
    }

    func describes(_ file: SplitFiles.File) -> Bool { file.bytes == bytes && file.changed == changed }

    /// Name, bytes, change, start, length, reasons and detail, with tabs; the texts are percent-encoded.
    func line(_ name: String) -> String {
        let reasons = recording?.reasons.map { percentEncoded($0.rawValue.utf8) }.joined(separator: ",") ?? ""
        return [
            percentEncoded(name.utf8), "\(bytes)", "\(changed)", "\(recording?.start.nanoseconds ?? 0)",
            "\(recording?.duration.nanoseconds ?? 0)", reasons, percentEncoded((recording?.detail ?? "").utf8), ".",
        ].joined(separator: "\t")
    }

    /// Nil for another text.
    static func parse(_ line: some Sequence<UInt8>, folder: String) -> (name: String, entry: IndexEntry)? {
        let words = Array(line).split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
        // The last word shows that the line is whole.
        guard words.count == 8, words[7].elementsEqual(".".utf8) else { return nil }
        let numbers = words[1...4].compactMap { Int64(String(decoding: $0, as: UTF8.self)) }
        guard numbers.count == 4, numbers.allSatisfy({ (0...maximumNumber).contains($0) }) else { return nil }
        let name = percentDecoded(words[0])
        guard !name.isEmpty, !name.contains("/") else { return nil }
        var entry = IndexEntry(bytes: numbers[0], changed: numbers[1], recording: nil)
        if numbers[3] > 0 {
            let detail = percentDecoded(words[6])
            entry.recording = Recording(
                path: folder + name, start: .nanoseconds(numbers[2]), duration: .nanoseconds(numbers[3]),
                bytes: numbers[0],
                reasons: words[5].split(separator: UInt8(ascii: ",")).map { .init(rawValue: percentDecoded($0)) },
                detail: detail.isEmpty ? nil : detail)
        }
        return (name, entry)
    }

    /// Far from where sums overflow: in nanoseconds, 146 years.
    private static let maximumNumber = Int64.max / 2
}
