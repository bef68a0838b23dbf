import CLibAV
import FFmpegSupport
import MediaContainers

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Makes one file with its index at the beginning of a file in fragments (ISO/IEC 14496-12, 8.8).
///
/// It is a second file until it is complete, so nothing recorded is lost if this fails. The folder needs room for both.
/// The second file has the name of the first and `.indexing`, so that the next run finds and reuses what one that was killed
/// has left of it.
struct FileIndexer {
    private let target: OutputTarget
    private let limit: WaitLimit
    private let longestStep: Duration

    /// - Parameters:
    ///   - target: the file.
    ///   - limit: ends waits.
    ///   - longestStep: the longest time between two packets of a track.
    init(_ target: OutputTarget, _ limit: WaitLimit, longestStep: Duration) {
        self.target = target
        self.limit = limit
        self.longestStep = longestStep
    }

    /// Replaces the file.
    ///
    /// - Parameter ends: how many packets each track has, and how long the last one is presented, which reading the fragments
    ///   does not tell.
    /// - Throws: `MediaFileError`; then the file is as before.
    func addIndex(_ ends: [(packets: UInt64, duration: Duration)]) throws(MediaFileError) {
        // The file itself, where the name is a link to it.
        guard let resolved = realpath(target.url, nil) else { throw failure(errno) }
        defer { free(resolved) }
        let path = String(cString: resolved)
        let temporary = path + ".indexing"
        let descriptor = try claim(temporary)
        // Releases the lock as well, so it comes last.
        defer { close(descriptor) }
        // Reading a file takes as long as it takes.
        limit.begin(.seconds(365 * 86_400))
        do throws(MediaFileError) {
            // The file that was claimed, whatever has its name by now.
            let copied = try copy(path, to: "/proc/self/fd/\(descriptor)", ends)
            let packets = ends.reduce(0) { $0 + $1.packets }
            guard copied == packets else {
                throw .muxing(
                    .corruptData, FileIndexer.operation, target.name,
                    "Of \(packets) packets \(copied) were found again; the file stays in fragments.")
            }
            try replace(path, by: temporary, descriptor)
        } catch {
            unlink(temporary)
            throw error
        }
    }

    private static let operation = "add the index"

    /// Makes the second file, or takes one that was left behind, for this run alone. It is locked as long as the descriptor
    /// is open.
    private func claim(_ temporary: String) throws(MediaFileError) -> Int32 {
        let descriptor = open(temporary, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(errno) }
        do throws(MediaFileError) {
            var (status, named) = (stat(), stat())
            // What is of another user, or has another name, was not left by a run of this one.
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
                status.st_nlink == 1
            else { throw failure(EEXIST) }
            // By open file, so that it counts between two muxers of this process as well.
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                guard errno == EWOULDBLOCK else { throw failure(errno) }
                throw inUse
            }
            // Another run may have completed and renamed it before the lock was taken.
            guard lstat(temporary, &named) == 0, named.st_dev == status.st_dev, named.st_ino == status.st_ino else {
                throw inUse
            }
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    private var inUse: MediaFileError {
        MediaFileError(
            .fileInUse, operation: FileIndexer.operation, subject: target.name,
            message: "Another run adds an index to this file; it stays in fragments, which players take.")
    }

    /// - Returns: the number of packets.
    private func copy(
        _ path: String, to temporary: String, _ ends: [(packets: UInt64, duration: Duration)]
    ) throws(MediaFileError) -> UInt64 {
        var input = avformat_alloc_context()
        guard input != nil else { throw .outOfMemory(target.name) }
        input?.pointee.interrupt_callback = limit.callback
        try check(avformat_open_input(&input, path, av_find_input_format("mp4"), nil))
        defer { avformat_close_input(&input) }
        var output: UnsafeMutablePointer<AVFormatContext>?
        try check(avformat_alloc_output_context2(&output, target.container, nil, temporary))
        guard let input, let output else { throw .outOfMemory(target.name) }
        defer {
            if output.pointee.pb != nil { avio_closep(&output.pointee.pb) }
            avformat_free_context(output)
        }
        output.pointee.interrupt_callback = limit.callback
        for index in 0..<Int(input.pointee.nb_streams) {
            guard let source = input.pointee.streams[index], let stream = avformat_new_stream(output, nil) else {
                throw .outOfMemory(target.name)
            }
            try check(avcodec_parameters_copy(stream.pointee.codecpar, source.pointee.codecpar))
            // MP4 states the pixels of VP9, which the demuxer leaves out: `MuxedTrack` takes 8 bits and 4:2:0 alone.
            if source.pointee.codecpar.pointee.codec_id == AV_CODEC_ID_VP9 {
                stream.pointee.codecpar.pointee.format = AV_PIX_FMT_YUV420P.rawValue
            }
            // The demuxer has it here alone, and the muxer writes the other.
            if source.pointee.sample_aspect_ratio.num > 0 {
                stream.pointee.sample_aspect_ratio = source.pointee.sample_aspect_ratio
                stream.pointee.codecpar.pointee.sample_aspect_ratio = source.pointee.sample_aspect_ratio
            }
            stream.pointee.time_base = source.pointee.time_base
            stream.pointee.avg_frame_rate = source.pointee.avg_frame_rate
            if let matrix = clibav_stream_matrix(source) { try check(clibav_set_stream_matrix(stream, matrix)) }
        }
        try check(
            avio_open2(&output.pointee.pb, temporary, AVIO_FLAG_WRITE, &output.pointee.interrupt_callback, nil))
        // In the sound's own unit, so that it ends at its last sample.
        var options = FFmpegOptions(["movflags": "+faststart", "movie_timescale": "48000"])
        if let scale = FileIndexer.timeScale(for: longestStep) { options.set("video_track_timescale", "\(scale)") }
        try check(avformat_write_header(output, &options.dictionary))
        let count = try copyPackets(from: input, to: output, ends)
        try check(av_write_trailer(output))
        try check(avio_closep(&output.pointee.pb))
        return count
    }

    /// The units per second in which the longest step has 31 bits, as the length of a sample must; nil for the usual ones,
    /// which suffice for 6.6 hours.
    private static func timeScale(for longestStep: Duration) -> Int? {
        func suffices(_ scale: Int) -> Bool { longestStep < .seconds(Int(Int32.max) / scale) }
        guard !suffices(90_000) else { return nil }
        return [10_000, 1000, 100].first(where: suffices) ?? 10
    }

    private func copyPackets(
        from input: UnsafeMutablePointer<AVFormatContext>, to output: UnsafeMutablePointer<AVFormatContext>,
        _ ends: [(packets: UInt64, duration: Duration)]
    ) throws(MediaFileError) -> UInt64 {
        guard let packet = av_packet_alloc() else { throw .outOfMemory(target.name) }
        defer {
            var packet: UnsafeMutablePointer<AVPacket>? = packet
            av_packet_free(&packet)
        }
        var count: UInt64 = 0
        var counts = ends.map { _ in UInt64(0) }
        while true {
            let result = av_read_frame(input, packet)
            if result == clibav_end { return count }
            try check(result)
            let index = Int(packet.pointee.stream_index)
            guard let source = input.pointee.streams[index], let stream = output.pointee.streams[index] else {
                return count
            }
            av_packet_rescale_ts(packet, source.pointee.time_base, stream.pointee.time_base)
            packet.pointee.pos = -1
            count += 1
            if counts.indices.contains(index) {
                counts[index] += 1
                if counts[index] == ends[index].packets {
                    packet.pointee.duration = av_rescale_q(
                        ends[index].duration.nanoseconds, AVRational(num: 1, den: 1_000_000_000),
                        stream.pointee.time_base)
                }
            }
            try check(av_interleaved_write_frame(output, packet))
        }
    }

    private func replace(_ path: String, by temporary: String, _ descriptor: Int32) throws(MediaFileError) {
        var status = stat()
        if stat(path, &status) == 0 { fchmod(descriptor, status.st_mode & 0o7777) }
        // A crash of the machine must not leave less than there was.
        guard fdatasync(descriptor) == 0 else { throw failure(errno) }
        guard !limit.isCancelled else {
            throw .muxing(.interrupted, FileIndexer.operation, target.name, "The output was cancelled.")
        }
        guard rename(temporary, path) == 0 else { throw failure(errno) }
    }

    private func failure(_ code: Int32) -> MediaFileError {
        MediaFileError(errno: code, operation: FileIndexer.operation, subject: target.name)
    }

    private func check(_ result: Int32) throws(MediaFileError) {
        guard result < 0 else { return }
        throw MediaFileError(av: result, FileIndexer.operation, target, isCancelled: limit.isCancelled)
    }
}
