import VideoCapturing

/// The positions of the parts of the file that are rewritten later.
///
/// ```
/// EBML header │ Segment, size unknown
///   Void, to become SeekHead       (files only)
///   Info, in it a Void to become Duration (files only)
///   Tracks
///   Cluster … Cluster
///   Cues                           (files only)
/// ```
struct WebMLayout {
    /// The eight bytes of the Segment's size.
    var segmentSize: Int64 = 0
    /// The first byte of the Segment's content, from which positions in the file count.
    var segmentStart: Int64 = 0
    /// The Void that is to become the SeekHead.
    var seekHead: Int64 = 0
    /// The Void that is to become the Duration.
    var duration: Int64 = 0
    var info: Int64 = 0
    var tracks: Int64 = 0

    /// The bytes reserved for the SeekHead: three entries take 63 to 77.
    static let seekHeadBytes = 96
    /// The number of tracks whose number fits into one byte.
    static let maximumTrackCount = 126
    /// The bytes of a Duration element.
    static let durationBytes = 11

    /// Appends everything before the first cluster to `output`, which must be empty, and records the positions.
    init(
        appendingHeaderTo output: inout EBML, tracks descriptions: [TrackDescription], isSeekable: Bool
    ) {
        output.master(.ebml) { header in
            header.unsigned(.ebmlVersion, 1)
            header.unsigned(.ebmlReadVersion, 1)
            header.unsigned(.ebmlMaxIDLength, 4)
            header.unsigned(.ebmlMaxSizeLength, 8)
            // WebM is a subset of Matroska, for some codecs only.
            header.text(.docType, descriptions.allSatisfy { [.vp8, .opus].contains($0.codec) } ? "webm" : "matroska")
            // The Colour element is of version 4; a reader of version 2 can play the rest.
            header.unsigned(.docTypeVersion, 4)
            header.unsigned(.docTypeReadVersion, 2)
        }
        output.openMaster(.segment)
        segmentStart = Int64(output.count)
        segmentSize = segmentStart - 8
        if isSeekable {
            seekHead = Int64(output.count)
            output.void(totalBytes: WebMLayout.seekHeadBytes)
        }
        info = Int64(output.count)
        output.master(.info) { info in
            // In nanoseconds: timestamps count milliseconds.
            info.unsigned(.timestampScale, 1_000_000)
            info.text(.muxingApp, "swift-video-capturing")
            info.text(.writingApp, "swift-video-capturing")
            // The last one, so that its position follows from the end. A Duration of zero is not allowed.
            if isSeekable { info.void(totalBytes: WebMLayout.durationBytes) }
        }
        duration = Int64(output.count - WebMLayout.durationBytes)
        tracks = Int64(output.count)
        output.master(.tracks) { tracks in
            for (index, track) in descriptions.enumerated() {
                tracks.master(.trackEntry) { entry in
                    switch track.media {
                    case .video(let video): entry.appendTrack(number: index + 1, track, video)
                    case .audio(let audio): entry.appendTrack(number: index + 1, track, audio)
                    }
                }
            }
        }
    }
}

extension EBML {
    /// One track of VP8 or H.264. No frame rate and no default duration, since the frame rate varies.
    fileprivate mutating func appendTrack(
        number: Int, _ track: TrackDescription, _ format: TrackDescription.Video
    ) {
        unsigned(.trackNumber, UInt64(number))
        unsigned(.trackUID, UInt64(number))
        unsigned(.trackType, 1)
        unsigned(.flagLacing, 0)
        text(.codecID, track.codec == .h264 ? "V_MPEG4/ISO/AVC" : "V_VP8")
        // The `avcC` record, as in MP4.
        if let configuration = track.decoderConfiguration { binary(.codecPrivate, configuration) }
        master(.video) { video in
            video.unsigned(.flagInterlaced, 2)
            video.unsigned(.pixelWidth, UInt64(format.width))
            video.unsigned(.pixelHeight, UInt64(format.height))
            if !format.pixelAspect.isSquare {
                let shown = PixelSize(width: format.width, height: format.height).squared(format.pixelAspect)
                video.unsigned(.displayWidth, UInt64(shown.width))
                video.unsigned(.displayHeight, UInt64(shown.height))
            }
            // Always: VP8 does not carry it, and browsers assume BT.709 when it is absent.
            video.master(.colour) { colour in
                let code = UInt64(format.color.matrix.h273Code)
                colour.unsigned(.matrixCoefficients, code)
                colour.unsigned(.range, format.color.range == .limited ? 1 : 2)
                // H.273 numbers the curve and the primaries of BT.601 and BT.709 as their matrices.
                colour.unsigned(.transferCharacteristics, code)
                colour.unsigned(.primaries, code)
            }
        }
    }

    /// One track of Opus. CodecDelay states the decoder's output before the first encoded sample; SeekPreRoll
    /// the time to decode before the target of a jump (RFC 9559, 5.1.4.1.28).
    fileprivate mutating func appendTrack(
        number: Int, _ track: TrackDescription, _ format: TrackDescription.Audio
    ) {
        unsigned(.trackNumber, UInt64(number))
        unsigned(.trackUID, UInt64(number))
        unsigned(.trackType, 2)
        unsigned(.flagLacing, 0)
        text(.codecID, "A_OPUS")
        unsigned(.codecDelay, UInt64(clamping: OpusSyntax.decoderDelay(of: track).nanoseconds))
        unsigned(.seekPreRoll, 80_000_000)
        if let configuration = track.decoderConfiguration { binary(.codecPrivate, configuration) }
        master(.audio) { audio in
            // The rate of the decoder's samples, whatever the rate of those that were encoded.
            audio.float(.samplingFrequency, Double(OpusSyntax.sampleRate))
            audio.unsigned(.channels, UInt64(clamping: format.channelCount))
        }
    }

    /// The SeekHead that replaces the Void.
    mutating func appendSeekHead(_ layout: WebMLayout, cues: Int64?) {
        let before = count
        master(.seekHead) { head in
            head.appendSeek(.info, layout.info - layout.segmentStart)
            head.appendSeek(.tracks, layout.tracks - layout.segmentStart)
            if let cues { head.appendSeek(.cues, cues - layout.segmentStart) }
        }
        void(totalBytes: WebMLayout.seekHeadBytes - (count - before))
    }

    private mutating func appendSeek(_ id: MatroskaID, _ position: Int64) {
        master(.seek) { seek in
            seek.header(.seekID, size: 4)
            seek.append(bigEndian: UInt64(id.rawValue), byteCount: 4)
            seek.unsigned(.seekPosition, UInt64(position))
        }
    }
}

/// The index of a file: times and positions of the clusters at which decoding can begin.
struct WebMCues {
    private struct Cue {
        var time: Int64
        var position: Int64
    }

    private var cues: [Cue] = []
    /// The number of the track at whose clusters decoding can begin.
    var track = 1

    /// Key frames closer together than this many milliseconds share a cue, so that the index of a file of
    /// only key frames stays small: at most 115 KB per hour.
    private static let minimumDistance: Int64 = 500

    var isEmpty: Bool { cues.isEmpty }

    /// Records a cluster that begins with a key frame. Times in milliseconds; positions from the start of the
    /// Segment's content.
    mutating func add(time: Int64, position: Int64) {
        if let last = cues.last, time - last.time < WebMCues.minimumDistance { return }
        cues.append(Cue(time: time, position: position))
    }

    func append(to output: inout EBML) {
        output.master(.cues) { element in
            for cue in cues {
                element.master(.cuePoint) { point in
                    point.unsigned(.cueTime, UInt64(cue.time))
                    point.master(.cueTrackPositions) { place in
                        place.unsigned(.cueTrack, UInt64(track))
                        place.unsigned(.cueClusterPosition, UInt64(cue.position))
                    }
                }
            }
        }
    }
}
