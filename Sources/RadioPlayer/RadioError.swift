import AudioCapturing

/// An error of a radio.
public typealias RadioError = MediaError<RadioErrorCode>

/// What can fail while a radio plays: the groups of AudioStreamer, whose codes are listed next to ours.
public enum RadioErrorCode: String, MediaErrorCode {
    /// The address cannot be read, or a setting is out of range.
    case invalidConfiguration
    /// No server answers, or the connection was lost and could not be made again. (`AS_NETWORK_CONNECTION_FAILED`)
    case networkConnectionFailed
    /// Nothing comes, although there is a connection.
    case networkStalled
    /// There is no such stream: 404, 410.
    case streamNotFound
    /// The server refuses: a login, a certificate, or a right is missing.
    case permissionDenied
    /// The stream is not MP3: another codec, HLS, a web page. (`AS_FILE_STREAM_OPEN_FAILED`)
    case streamUnsupported
    /// The server's answer or a playlist cannot be read. (`AS_FILE_STREAM_PARSE_BYTES_FAILED`)
    case streamParseFailed
    /// The stream cannot be sought in, or not from here. (`AS_FILE_STREAM_SEEK_FAILED`)
    case streamSeekFailed
    /// Bytes come, but no MP3 is in them. (`AS_AUDIO_DATA_NOT_FOUND`)
    case audioDataNotFound
    /// The decoder or the resampler has failed. (`AS_FILE_STREAM_GET_PROPERTY_FAILED` and others)
    case decoderFailed
    /// The renderer cannot be opened. (`AS_AUDIO_QUEUE_CREATION_FAILED`, `…_BUFFER_ALLOCATION_FAILED`)
    case rendererCreationFailed
    /// The renderer no longer takes sound. (`AS_AUDIO_QUEUE_ENQUEUE_FAILED`)
    case rendererWriteFailed
    /// The renderer does not start, or does not go on after a pause. (`AS_AUDIO_QUEUE_START_FAILED`)
    case rendererStartFailed
    /// The renderer cannot be paused. (`AS_AUDIO_QUEUE_PAUSE_FAILED`)
    case rendererPauseFailed
    /// The renderer cannot drop what it has. (`AS_AUDIO_QUEUE_FLUSH_FAILED`)
    case rendererFlushFailed
    /// The renderer does not tell how far it is. (`AS_GET_AUDIO_TIME_FAILED`)
    case rendererTimeFailed
    /// A call that does not fit the state.
    case invalidState
    /// The machine has no thread or memory left. (`AS_AUDIO_STREAMER_FAILED`)
    case playerFailed

    public var category: ErrorCategory {
        switch self {
        case .invalidConfiguration: .usage
        case .networkConnectionFailed, .networkStalled: .disconnected
        case .streamNotFound: .notFound
        case .permissionDenied: .noPermission
        case .streamUnsupported, .streamSeekFailed: .unsupported
        case .streamParseFailed, .audioDataNotFound: .invalidData
        case .rendererCreationFailed, .decoderFailed, .playerFailed: .unavailable
        case .rendererWriteFailed, .rendererStartFailed, .rendererPauseFailed, .rendererFlushFailed,
            .rendererTimeFailed:
            .disconnected
        case .invalidState: .internal
        }
    }
}
