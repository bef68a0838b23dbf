import CLibAV
import MediaContainers
import Synchronization
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Writes packets with FFmpeg: to files in any container of it, and to network peers by any protocol of it.
///
/// ```swift
/// consumer.add(try FFmpegMuxer("holiday.mp4"), name: "holiday.mp4")
/// consumer.add(try FFmpegMuxer("rtmp://host/live/key"), name: "live")
/// ```
/// **Files.** MP4 and MOV are written in fragments of a second, so a process that is killed loses the last second; when
/// finished they get their index (``FFmpegMuxer/Configuration/makesIndex``), in a second file that replaces the first once
/// it is complete. Matroska keeps clusters of a second, MPEG-TS each packet. A write that fails truncates the file to
/// what is complete. HLS keeps all segments.
///
/// **Network.** `rtmp://`, `srt://`, `rtsp://`, `udp://` and others: ``begin(_:)`` and ``write(_:)`` never wait, a thread
/// of its own sends. A peer that takes too little loses whole groups of pictures. A connection that was lost is made
/// again, with a growing wait between the attempts, and goes on with a key frame. A listener (`srt://…?mode=listener`) waits
/// for its caller, and for the next when one has gone, as long as it is used. ``finish()`` sends what waits, for at
/// most the timeouts of the configuration. User names, passwords, queries and stream keys of URLs are in no error.
///
/// **H.264.** Packets with start codes (Annex B) or lengths (AVCC); with start codes, parameter sets in the first packet
/// or in the track's configuration (avcC or Annex B); with lengths, avcC in the configuration.
///
/// Timestamps count from the first packet; they are exact to 1/90000 s, in Matroska, WebM and FLV to a millisecond. Several
/// tracks are interleaved by time.
///
/// Calls come one at a time, from any thread; ``cancel()``, ``state`` and ``statistics`` at any time.
public final class FFmpegMuxer: PacketWriter, FeedbackSink {
    /// The path, or the URL without its secrets.
    public let name: String

    private let configuration: FFmpegMuxer.Configuration
    private let target: OutputTarget
    private let file: OutputFile?
    private let status: MuxerStatus
    private let limit = WaitLimit()
    private let work = Locked(Work())
    /// Whether a user waits for the end.
    private let isHurried = Atomic(false)
    /// Apart from the work, which a write keeps locked.
    private let sender = Locked<NetworkSender?>(nil)

    private struct Work {
        var tracks: [TrackDescription] = []
        var writer: ContainerWriter?
        var isFinished = false
        /// Of a file, once it is finished.
        var isFileEmpty = false
    }

    /// Opens a file; a network peer is connected by ``begin(_:)``.
    ///
    /// - Parameters:
    ///   - url: a path, `-` for standard output, or a URL.
    ///   - configuration: how to write.
    ///   - onStateChange: called with each new state, on a thread of the muxer or of its caller.
    ///   - isWanted: called 50 times per second while a FIFO has no reader; false ends the wait.
    /// - Throws: `MediaFileError`: `formatUnsupported` for an unknown container or protocol, and what the file system says.
    public init(
        _ url: String, _ configuration: FFmpegMuxer.Configuration = FFmpegMuxer.Configuration(),
        onStateChange: @escaping @Sendable (State) -> Void = { _ in }, isWanted: () -> Bool = { true }
    ) throws(MediaFileError) {
        target = try OutputTarget(url, format: configuration.format)
        name = target.name
        self.configuration = configuration
        status = MuxerStatus(onStateChange)
        switch target.kind {
        case .file: file = try OutputFile(path: target.url, overwrite: configuration.overwrites, isWanted: isWanted)
        case .files:
            file = nil
            try FFmpegMuxer.checkPlaylist(target, overwrites: configuration.overwrites)
        case .network: file = nil
        }
    }

    deinit { sender.withLock { $0 }?.cancel() }

    /// What it does at present.
    public var state: State { status.state }

    /// What it has counted.
    public var statistics: Statistics {
        var statistics = status.statistics
        if let sender = sender.withLock({ $0 }) { statistics.packetsDropped = sender.packetsDropped }
        return statistics
    }

    /// The bytes of the file; of other outputs the bytes of the packets.
    public var bytesWritten: Int64 { file?.bytesWritten ?? Int64(clamping: status.statistics.bytes) }

    /// Why a finished MP4 or MOV file has no index, and is still in fragments; nil when it has one, or needs none.
    public var indexFailure: MediaFileError? { status.indexFailure }

    /// Has ``finish()`` wait for a peer no longer than a second in all: a user waits for the end.
    func hurry() { isHurried.store(true, ordering: .relaxed) }

    /// Whether the peer calls, and not this side.
    var isListener: Bool { target.isListener(configuration.options) }

    /// Ends every wait for a peer, a reader or the index at once, those to come as well. ``finish()`` is still to be called.
    public func cancel() {
        limit.cancel()
        file?.stallTimeout = .zero
        sender.withLock { $0 }?.cancel()
    }

    /// Limits how long a write to a file waits for a reader that takes nothing; nil for indefinitely.
    func setWriteTimeout(_ timeout: Duration?) { file?.stallTimeout = timeout }

    /// Whether it writes to a pipe or the like, or to a network.
    var waitsForReader: Bool { file?.waitsForReader ?? true }

    public func connectFeedback(_ feedback: PacketFeedback?) { status.connectFeedback(feedback) }

    /// Begins the output; a network peer is connected from here on.
    ///
    /// - Throws: `MediaFileError` with the code `formatUnsupported` for tracks that the container cannot carry, before
    ///   anything is written or connected.
    public func begin(_ tracks: [TrackDescription]) throws {
        try ContainerSupport.check(tracks, target)
        if target.kind == .network {
            work.withLock { $0.tracks = tracks }
            let made = try NetworkSender(target, tracks, configuration, limit, status)
            sender.withLock { $0 = made }
            return
        }
        try work.withLock { work in
            work.tracks = tracks
            work.writer = try ContainerWriter(
                target, tracks, file: file, options: configuration.containerOptions,
                overwrites: configuration.overwrites, limit: limit, timeout: configuration.writeTimeout)
        }
        status.change(to: .live)
    }

    /// Writes a packet, or hands it to the thread that sends. An empty packet is ignored.
    ///
    /// - Throws: `MediaFileError`: of the file, or the one that has ended the sending.
    public func write(_ packet: MediaPacket) throws {
        guard packet.data.count > 0 else { return }
        let isKnown = work.withLock { work in work.tracks.contains { $0.id == packet.track } }
        if let error = status.error { throw error }
        guard isKnown else {
            throw MediaFileError.muxing(
                .formatUnsupported, "write a packet", name,
                "A packet belongs to track \(packet.track.rawValue), with which the output was not begun.")
        }
        if let sender = sender.withLock({ $0 }) { return sender.send(packet) }
        do {
            try work.withLock { work in
                guard !work.isFinished else {
                    throw MediaFileError.muxing(.system, "write a packet", name, "The output is finished.")
                }
                try work.writer?.write(packet)
            }
            status.add(packet)
        } catch let error as MediaFileError {
            status.change(to: .ended(error))
            throw error
        }
    }

    /// Completes the output and closes it. After a failed write it keeps what is complete, closes, and throws the failure
    /// again.
    public func finish() throws {
        guard
            work.withLock({ work in
                defer { work.isFinished = true }
                return !work.isFinished
            })
        else { return }
        do {
            if let sender = sender.withLock({ $0 }) {
                try sender.finish(isHurried: isHurried.load(ordering: .relaxed))
            } else {
                try finishFile()
            }
            status.change(to: .ended(nil))
        } catch let error as MediaFileError {
            status.change(to: .ended(error))
            throw error
        }
    }

    private func finishFile() throws {
        let failure = status.error
        let (ends, longestStep) = try work.withLock { work in
            defer {
                work.isFileEmpty = work.writer?.isFileEmpty ?? true
                work.writer = nil
                try? file?.close()
            }
            if let failure { throw failure }
            try work.writer?.finish()
            try file?.close()
            return (work.writer?.ends ?? [], work.writer?.longestStep ?? .zero)
        }
        guard configuration.makesIndex, ends.contains(where: { $0.packets > 0 }), target.isFragmented, let file,
            file.isSeekable,
            target.url != "-"
        else { return }
        do throws(MediaFileError) {
            try FileIndexer(target, limit, longestStep: longestStep).addIndex(ends)
        } catch {
            // The file is whole without it.
            status.setIndexFailure(error)
        }
    }

    /// Removes the file, where this muxer has created it and no packet is in it; called after ``finish()``.
    ///
    /// - Returns: whether there is nothing.
    @discardableResult
    func removeEmptyFile() -> Bool {
        guard let file, work.withLock({ $0.isFinished && $0.isFileEmpty }) else { return false }
        return file.removeIfCreated()
    }

    /// Removes the file that this muxer has created.
    func removeFile() { file?.removeIfCreated() }

    /// The library would fail only with the first segment, and replace a playlist and segments unasked.
    private static func checkPlaylist(_ target: OutputTarget, overwrites: Bool) throws(MediaFileError) {
        // Its names of segments would have no number, or another one.
        guard !target.url.contains("%") else {
            throw .muxing(
                .formatUnsupported, "make the playlist", target.name,
                "The name of an HLS playlist can have no percent sign; choose another.")
        }
        let folder = String(target.url[...(target.url.lastIndex(of: "/") ?? target.url.startIndex)])
        guard access(folder, W_OK | X_OK) == 0 else {
            throw MediaFileError(errno: errno, operation: "make the playlist", subject: target.name)
        }
        guard !overwrites else { return }
        for path in [target.url] + target.existingSegments where access(path, F_OK) == 0 {
            throw MediaFileError(errno: EEXIST, operation: "make the playlist", subject: path)
        }
    }
}

/// The state of a muxer, what it has counted, and whom it notifies. Safe to use from any thread.
final class MuxerStatus: Sendable {
    private struct Values {
        var state = FFmpegMuxer.State.idle
        var statistics = FFmpegMuxer.Statistics()
        var feedback: PacketFeedback?
        var indexFailure: MediaFileError?
    }

    private let values = Locked(Values())
    private let onStateChange: @Sendable (FFmpegMuxer.State) -> Void

    init(_ onStateChange: @escaping @Sendable (FFmpegMuxer.State) -> Void) { self.onStateChange = onStateChange }

    var state: FFmpegMuxer.State { values.withLock { $0.state } }

    var statistics: FFmpegMuxer.Statistics { values.withLock { $0.statistics } }

    var indexFailure: MediaFileError? { values.withLock { $0.indexFailure } }

    func setIndexFailure(_ error: MediaFileError) { values.withLock { $0.indexFailure = error } }

    /// What has ended the output; nil while it goes on.
    var error: MediaFileError? {
        if case .ended(let error) = state { return error }
        return nil
    }

    /// The first end counts.
    func change(to state: FFmpegMuxer.State) {
        let isNew = values.withLock { values in
            if case .ended = values.state { return false }
            defer { values.state = state }
            return values.state != state
        }
        if isNew { onStateChange(state) }
    }

    func add(_ packet: MediaPacket) {
        values.withLock { values in
            values.statistics.packets += 1
            values.statistics.bytes += UInt64(packet.data.count)
        }
    }

    func addReconnection() { values.withLock { $0.statistics.reconnections += 1 } }

    func connectFeedback(_ feedback: PacketFeedback?) { values.withLock { $0.feedback = feedback } }

    func requestKeyFrame() { values.withLock { $0.feedback }?.requestKeyFrame() }
}
