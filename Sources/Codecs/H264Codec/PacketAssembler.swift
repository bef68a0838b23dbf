import H264Bitstream
import VideoCapturing

/// Puts the parts of a packet together, with video usability information in its sequence parameter sets.
///
/// openh264 states no rate, so that players of raw streams assume 25 frames per second and fall behind.
struct PacketAssembler {
    /// What sequence parameter sets are to state.
    struct Statement: Equatable {
        var frameRate: FrameRate
        var color: ColorDescription
        var pixelAspect: PixelAspect

        /// A lower rate than stated changes nothing: a player that expects too many frames waits for them, and measured
        /// rates tremble.
        func holds(frameRate: FrameRate, of frame: VideoFrame) -> Bool {
            describes(frame) && frameRate.framesPerSecond <= self.frameRate.framesPerSecond * 1.02
        }

        /// Whether color and shape of the pixels are the frame's.
        func describes(_ frame: VideoFrame) -> Bool { frame.color == color && frame.pixelAspect == pixelAspect }
    }

    /// The packet.
    private(set) var bytes: [UInt8] = []
    /// The parameter sets of the last key frame as `avcC`.
    private(set) var configuration: PacketBuffer?

    private var statement: Statement?
    /// The last sequence parameter set as it came, and as it was written.
    private var original: [UInt8] = []
    private var written: [UInt8] = []
    private var areSetsNew = false

    /// Begins a packet.
    ///
    /// - Parameter statement: for the parameter sets of a key frame.
    mutating func begin(_ statement: Statement) {
        bytes.removeAll(keepingCapacity: true)
        guard statement != self.statement else { return }
        self.statement = statement
        original = []
    }

    /// Adds the units of one part.
    mutating func append(_ layer: UnsafeRawBufferPointer) throws {
        for unit in AnnexB.units(in: layer) {
            guard unit.type == .sps else {
                AnnexB.append(unit, to: &bytes)
                continue
            }
            if !original.elementsEqual(unit.bytes) { try rewrite(unit) }
            written.withUnsafeBytes { written in
                if let unit = NALUnit(written) { AnnexB.append(unit, to: &bytes) }
            }
        }
    }

    /// Ends a key frame's packet.
    mutating func finishKeyFrame() throws {
        guard areSetsNew else { return }
        areSetsNew = false
        let made = try bytes.withUnsafeBytes { try AVCDecoderConfiguration(annexB: $0) }
        configuration = made.bytes.withUnsafeBytes { PacketBuffer(copying: $0) }
    }

    private mutating func rewrite(_ unit: NALUnit) throws {
        let set = try SequenceParameterSet(unit)
        var usability = set.videoUsability ?? SequenceParameterSet.VideoUsability()
        usability.restriction =
            usability.restriction
            ?? SequenceParameterSet.VideoUsability.Restriction(
                reorderedFrameCount: 0, bufferedFrameCount: max(1, set.referenceFrameCount))
        if let statement {
            // A tick is half a frame.
            usability.timing = SequenceParameterSet.VideoUsability.Timing(
                unitsPerTick: UInt32(statement.frameRate.seconds), timeScale: UInt32(statement.frameRate.frames) * 2)
            usability.signal = SequenceParameterSet.VideoUsability.Signal(statement.color)
            usability.pixelAspect = statement.pixelAspect
        }
        original = Array(unit.bytes)
        written = set.replacingVideoUsability(of: unit, with: usability)
        areSetsNew = true
    }
}
