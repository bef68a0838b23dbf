import RTP
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension RTPHub {
    /// Errors after which no later packet is taken either.
    static let tooLarge = EMSGSIZE
    static let forbidden = EPERM
    static let noAccess = EACCES

    // MARK: Description

    /// The session description of what is known so far.
    var description: String { session.withLock { $0.text } }

    /// Takes what is sent into the description.
    func describe(_ tracks: [TrackDescription], _ channels: [Channel]) {
        let streams = channels.map { channel in
            var found = stream(channel.sender.configuration.format)
            if let track = tracks.first(where: { $0.id == channel.track }) { found.describe(track) }
            return found
        }
        session.withLock { $0.streams = streams }
    }

    /// A stream before its parameter sets are known.
    func stream(_ format: RTPFormat) -> PlainSession.Stream {
        let isAudio = format.isAudio
        return PlainSession.Stream(
            format: format,
            payloadType: UInt8(isAudio ? configuration.audioPayloadType : configuration.payloadType),
            port: isAudio ? ports.audio : ports.video, reportPort: isAudio ? ports.audio + 1 : ports.reports,
            ssrc: isAudio ? sources.audio : sources.video, cname: cname)
    }

    // MARK: Statistics

    var statistics: RTPOutput.Statistics {
        state.withLock { state in
            var result = RTPOutput.Statistics()
            result.packetsUnsent = state.packetsUnsent
            result.reportsSent = state.reportsSent
            result.keyFramesAsked = state.keyFramesAsked
            result.bitrateLimit = state.estimate?.bitrate
            result.messagesIgnored = state.parser.malformed + state.parser.dropped
            result.isRefused = state.isRefused
            for channel in state.channels {
                let counted = channel.sender.statistics
                result.packets += counted.packets
                result.bytes += counted.bytes + counted.bytesResent
                result.packetsResent += counted.packetsResent
                result.packetsAsked += counted.packetsAsked
                result.keyFrameRequests += counted.keyFrameRequests
                result.reports += counted.reports
                guard !channel.sender.configuration.format.isAudio else { continue }
                result.fractionLost = counted.fractionLost
                result.roundTripTime = counted.roundTripTime
            }
            return result
        }
    }
}

/// A file with a session description.
enum DescriptionFile {
    /// Writes the description in place of an older one; any other file is left alone.
    ///
    /// - Throws: `invalidConfiguration` for a file that is no session description, `permissionDenied`, `deviceNotFound` and
    ///   `system` when it cannot be written.
    static func write(_ text: String, to path: String) throws(CaptureError) {
        func failed(_ operation: String) -> CaptureError {
            let code = errno
            return CaptureError(
                code == EACCES || code == EPERM ? .permissionDenied : code == ENOENT ? .deviceNotFound : .system,
                operation: operation, subject: path, errno: code,
                message: "The session description cannot be written there; choose another file.")
        }
        var before = stat()
        let isNew = stat(path, &before) != 0
        let file = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw failed("create the file") }
        defer { close(file) }
        var status = stat()
        let isRegular = fstat(file, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        var head = [UInt8](repeating: 0, count: 4)
        // A pipe would be waited for.
        let count = isRegular ? read(file, &head, head.count) : 0
        // An empty file may be a user's, too.
        guard isNew || !isRegular || count == head.count && [Array("v=0\r".utf8), Array("v=0\n".utf8)].contains(head)
        else {
            throw CaptureError(
                .invalidConfiguration, operation: "create the file", subject: path,
                message: "This file is not a session description and would be lost; choose another name.")
        }
        var bytes = Array(text.utf8)[...]
        guard !isRegular || ftruncate(file, 0) == 0 && lseek(file, 0, SEEK_SET) == 0 else {
            throw failed("empty the file")
        }
        while !bytes.isEmpty {
            let written = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            guard written > 0 else { throw failed("write the file") }
            bytes = bytes.dropFirst(written)
        }
    }
}
