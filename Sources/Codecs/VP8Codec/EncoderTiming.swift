import CLibVPX
import VideoCapturing

/// The encoder's own time, in 100 ns: an even line at the nominal rate.
///
/// Rate control budgets each frame by its duration; the true intervals of a live capture would make the budget
/// jump, so the encoder is given even ones (1 to 125 ms). The true timestamps travel with the packets.
///
/// Of a screen, though, frames come when something changes. What was saved meanwhile is there to be spent: there a
/// pause is reported, up to 125 ms.
struct EncoderTiming {
    struct Slot {
        var start: Int64
        var duration: UInt
        /// The frame's interval as far as it is known.
        var nominalDuration: Duration
    }

    /// libvpx counts in these inside, so nothing is rounded twice.
    static let unitsPerSecond: Int64 = 10_000_000

    private let nominal: FrameRate
    private var rate: FrameRate
    private var epoch: Int64 = 0
    private var index: Int64 = 0
    private var lastTimestamp: MediaTime?

    private static let longestInterval = Duration.milliseconds(125)

    init(nominal: FrameRate) {
        self.nominal = nominal
        rate = nominal
    }

    /// The frame's interval as far as it is known.
    func nominalDuration(of frame: VideoFrame) -> Duration {
        EncoderTiming.clamped(frame.estimatedFrameRate ?? nominal).frameInterval
    }

    mutating func place(_ frame: VideoFrame, tellsPauses: Bool = false) -> Slot {
        let wanted = EncoderTiming.clamped(frame.estimatedFrameRate ?? nominal)
        // Measured rates tremble; a new line is begun only for a change that matters.
        if abs(wanted.framesPerSecond - rate.framesPerSecond) > rate.framesPerSecond * 0.02 {
            epoch += units(index)
            index = 0
            rate = wanted
        }
        if tellsPauses, let lastTimestamp {
            let elapsed = min(frame.timestamp - lastTimestamp, EncoderTiming.longestInterval)
            if elapsed > rate.frameInterval * 3 / 2 { epoch += (elapsed - rate.frameInterval).nanoseconds / 100 }
        }
        lastTimestamp = frame.timestamp
        let start = epoch + units(index)
        index += 1
        return Slot(start: start, duration: UInt(epoch + units(index) - start), nominalDuration: rate.frameInterval)
    }

    private func units(_ index: Int64) -> Int64 {
        let step = Int64(rate.seconds) * EncoderTiming.unitsPerSecond
        let (product, isTooLarge) = index.multipliedReportingOverflow(by: step)
        guard isTooLarge else { return product / Int64(rate.frames) }
        return Int64(clamping: Int128(index) * Int128(step) / Int128(rate.frames))
    }

    private static func clamped(_ rate: FrameRate) -> FrameRate {
        min(max(rate, 8), 1000)
    }
}

/// Which frames belong to which temporal layer, and which reference each may use and replace, so that the higher
/// layers can be left out: the patterns of libvpx's `vpx_temporal_svc_encoder` and of WebRTC.
///
/// The last frame belongs to layer 0, the golden frame to layer 1; the topmost layer replaces nothing.
struct TemporalLayerPattern {
    struct Place {
        var layer: Int
        var flags: Int
    }

    let layerCount: Int
    private var index = 0

    init(layerCount: Int) {
        self.layerCount = layerCount
    }

    /// Frames after which the pattern begins again.
    var period: Int { layerCount == 3 ? 4 : layerCount }

    /// The layer of each frame of a period.
    var layerOfFrame: [Int] { layerCount == 3 ? [0, 2, 1, 2] : Array(0..<layerCount) }

    /// By how much the rate is divided up to each layer.
    var rateDivisors: [Int] { (0..<layerCount).map { 1 << (layerCount - 1 - $0) } }

    /// The share of the bitrate up to each layer, in percent.
    var bitrateShares: [Int] {
        switch layerCount {
        case 2: [60, 100]
        case 3: [40, 60, 100]
        default: [100]
        }
    }

    /// The next frame is a key frame and so the first of a period.
    mutating func restart() {
        index = 0
    }

    mutating func next(isKeyFrame: Bool) -> Place {
        defer { index = (index + 1) % period }
        if isKeyFrame { return Place(layer: 0, flags: Int(VPX_EFLAG_FORCE_KF)) }
        guard layerCount > 1 else { return Place(layer: 0, flags: 0) }
        let keepsAll =
            VP8_EFLAG_NO_UPD_LAST | VP8_EFLAG_NO_UPD_GF | VP8_EFLAG_NO_UPD_ARF | VP8_EFLAG_NO_UPD_ENTROPY
        let seesLastOnly = VP8_EFLAG_NO_REF_GF | VP8_EFLAG_NO_REF_ARF
        switch (layerCount, index) {
        case (_, 0):
            return Place(layer: 0, flags: Int(seesLastOnly | VP8_EFLAG_NO_UPD_GF | VP8_EFLAG_NO_UPD_ARF))
        case (3, 2):
            return Place(
                layer: 1,
                flags: Int(seesLastOnly | VP8_EFLAG_NO_UPD_LAST | VP8_EFLAG_NO_UPD_ARF | VP8_EFLAG_NO_UPD_ENTROPY))
        case (3, 3):
            return Place(layer: 2, flags: Int(VP8_EFLAG_NO_REF_ARF | keepsAll))
        default:
            return Place(layer: layerCount - 1, flags: Int(seesLastOnly | keepsAll))
        }
    }
}
