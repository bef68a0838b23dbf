import CLibVPX

/// Which frames belong to which temporal layer, and which reference each may use and replace, so that the higher
/// layers can be left out: the patterns of libvpx's `vpx_temporal_svc_encoder` and of WebRTC.
///
/// The last frame belongs to layer 0, the golden frame to layer 1; the topmost layer replaces nothing. A frame of a higher
/// layer depends on the last frame of layer 0, and on later frames of the same and lower layers; on no earlier frame. So layers
/// can be left out from any frame on, and taken up again with any frame of layer 0.
struct TemporalLayerPattern {
    struct Place {
        var layer: Int
        var flags: Int
    }

    let layerCount: Int
    private var index = 0
    /// Whether the golden frame is newer than the last frame.
    private var hasMiddle = false

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

    /// A frame of a layer has become a packet: the encoder may also have left it out.
    mutating func didEncode(layer: Int) {
        if layer < 2 { hasMiddle = layer == 1 }
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
        case (3, 3) where hasMiddle:
            return Place(layer: 2, flags: Int(VP8_EFLAG_NO_REF_ARF | keepsAll))
        default:
            return Place(layer: layerCount - 1, flags: Int(seesLastOnly | keepsAll))
        }
    }
}
