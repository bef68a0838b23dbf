import VideoCapturing

/// The brightness of a small picture, upright: the material of a ``MotionAnalyzer``.
public struct LumaPlane: Sendable, Hashable {
    /// The size in samples.
    public let size: PixelSize
    /// The samples, row after row without padding.
    public internal(set) var samples: [UInt8]

    /// A plane.
    ///
    /// - Parameters:
    ///   - size: the size; each side from 1 to `VideoFormat.maximumSide`.
    ///   - samples: the samples, row after row.
    /// - Throws: `invalidConfiguration` for another number of samples, and for a size out of range.
    public init(size: PixelSize, samples: [UInt8]) throws(CaptureError) {
        try VideoFormat(.i420, width: size.width, height: size.height).validate()
        guard samples.count == size.pixelCount else {
            throw CaptureError(
                .invalidConfiguration, operation: "look for motion", subject: "\(size)",
                message: "The plane has \(samples.count) samples in place of \(size.pixelCount).")
        }
        self.size = size
        self.samples = samples
    }

    /// A black plane of a valid size, for samples that follow.
    init(blank size: PixelSize) {
        self.size = size
        samples = [UInt8](repeating: 0, count: size.pixelCount)
    }
}
