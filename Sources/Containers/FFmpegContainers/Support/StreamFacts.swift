import CLibAV
import VideoCapturing

/// What a file says of its video, apart from the pictures.
struct StreamFacts {
    var rate: FrameRate?
    var duration: Duration?
    var frameCount: Int64?
    var display: DisplayMatrix
    var description: String

    init(_ demuxer: Demuxer, _ first: UnsafePointer<AVFrame>, path: String) {
        let context = demuxer.context.pointee
        let stream = demuxer.stream.pointee
        rate = FrameRate(stream.avg_frame_rate)
        let unit = FrameClock(timeBase: stream.time_base, start: nil, rate: nil)
        if stream.duration != clibav_no_time, stream.duration > 0 {
            duration = unit.duration(of: Int128(stream.duration))
        } else if context.duration != clibav_no_time, context.duration > 0,
            context.duration_estimation_method != AVFMT_DURATION_FROM_BITRATE
        {
            duration = .nanoseconds(Duration.microseconds(context.duration).nanoseconds)
        }
        if stream.nb_frames > 0 {
            frameCount = stream.nb_frames
        } else if let rate, let duration {
            // To the nearest: containers round the duration.
            frameCount = rate.frameIndex(at: duration + rate.frameInterval / 2)
        }
        let numbers = clibav_stream_matrix(demuxer.stream) ?? clibav_frame_matrix(first)
        display = numbers.map { DisplayMatrix($0) } ?? .upright
        let brand = av_dict_get(context.metadata, "major_brand", nil, 0).map { String(cString: $0.pointee.value) }
        description = SourceDescription.describe(
            codec: stream.codecpar.pointee.codec_id, container: demuxer.name, brand: brand, path: path)
    }
}
