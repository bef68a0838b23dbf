import H264Bitstream
import VideoCapturing

/// Gives packets the form in which a file or a stream has them: with a copy only where that differs from theirs.
///
/// Packets of codecs other than H.264 stay as they are. Key frames of H.264 get the parameter sets that they lack. Not
/// thread-safe.
package struct PacketShaper {
    /// The forms of H.264.
    package enum Form: Sendable, Hashable {
        /// Start codes, and delimiters where the encoder gives them.
        case annexB
        /// Start codes, without a delimiter at the front: for a stream that sends it with the unit before.
        case annexBWithoutDelimiter
        /// Lengths of four bytes, without parameter sets and delimiters: as in Matroska.
        case lengthPrefixed
    }

    private let form: Form
    private let pool = PacketBufferPool(capacity: 64)
    private var scratch: [UInt8] = []
    /// The parameter sets of the last key frame as a byte stream; at first those of the track.
    private var parameterSets: [UInt8]
    /// The track as a header that is written now must describe it.
    package private(set) var track: TrackDescription
    /// How often that has changed.
    package private(set) var generation = 0

    /// Shapes the packets of one track.
    package init(_ track: TrackDescription, form: Form) {
        self.track = track
        self.form = form
        parameterSets =
            track.codec == .h264
            ? track.decoderConfiguration?.withUnsafeBytes { (try? AVCDecoderConfiguration(parsing: $0))?.annexB } ?? []
            : []
    }

    /// The packet to write.
    package mutating func shape(_ packet: MediaPacket) -> MediaPacket {
        guard track.codec == .h264 else { return packet }
        var shaped = packet
        packet.data.withUnsafeBytes { bytes in
            let head = Head(bytes)
            if packet.isKeyFrame, head.hasParameterSets { adopt(bytes, head) }
            let lacksParameterSets = packet.isKeyFrame && !head.hasParameterSets && !parameterSets.isEmpty
            let skipped = form == .annexBWithoutDelimiter ? head.delimiterBytes : 0
            guard form == .lengthPrefixed || skipped > 0 || lacksParameterSets else { return }
            scratch.removeAll(keepingCapacity: true)
            if form == .lengthPrefixed {
                LengthPrefixed.append(annexB: bytes, keepsParameterSets: false, to: &scratch)
            } else {
                // A delimiter is the first of its unit.
                scratch.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[skipped..<head.delimiterBytes]))
                if lacksParameterSets { scratch.append(contentsOf: parameterSets) }
                scratch.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[head.delimiterBytes...]))
            }
            shaped.data = scratch.withUnsafeBytes { pool.makeBuffer(copying: $0) }
        }
        return shaped
    }

    /// Takes the parameter sets of a key frame, where they are others.
    private mutating func adopt(_ bytes: UnsafeRawBufferPointer, _ head: Head) {
        let sets = UnsafeRawBufferPointer(rebasing: bytes[head.delimiterBytes..<head.end])
        guard !sets.elementsEqual(parameterSets) else { return }
        guard let configuration = try? AVCDecoderConfiguration(annexB: sets) else { return }
        parameterSets = Array(sets)
        let record = configuration.bytes
        let isSame = track.decoderConfiguration?.withUnsafeBytes { $0.elementsEqual(record) } ?? false
        guard !isSame else { return }
        track.decoderConfiguration = record.withUnsafeBytes { PacketBuffer(copying: $0) }
        if case .video(var video) = track.media, let parameters = configuration.parameters {
            video.width = parameters.width
            video.height = parameters.height
            track.media = .video(video)
        }
        generation += 1
    }

    /// What precedes the first slice of an access unit.
    private struct Head {
        /// The bytes of the delimiter at the front, with its start code.
        var delimiterBytes = 0
        var hasParameterSets = false
        /// The bytes before the first unit that is neither a delimiter nor a parameter set, without its start code.
        var end = 0

        init(_ bytes: UnsafeRawBufferPointer) {
            guard let base = bytes.baseAddress else { return }
            end = bytes.count
            for (index, unit) in AnnexB.units(in: bytes).enumerated() {
                guard let start = unit.bytes.baseAddress else { return }
                let code = start - base - 3
                let before = code > 0 && bytes[code - 1] == 0 ? code - 1 : code
                if index == 1, delimiterBytes > 0 { delimiterBytes = before }
                switch unit.type {
                case .delimiter where index == 0: delimiterBytes = bytes.count
                case .sps: hasParameterSets = true
                case .pps, .spsExtension: break
                default:
                    end = before
                    return
                }
            }
        }
    }
}
