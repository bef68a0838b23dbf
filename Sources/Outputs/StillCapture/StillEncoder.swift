import CPNG
import FrameProcessing
import JPEGCodec
import VideoCapturing

/// Makes stills of frames. For one thread at a time.
final class StillEncoder {
    private let configuration: StillCapture.Configuration
    private let clock: any CaptureClock
    private let processor = FrameProcessor(capacity: 2)
    /// By quality, of which there are few.
    private var encoders: [Int: JPEGEncoder] = [:]

    init(_ configuration: StillCapture.Configuration, clock: any CaptureClock) {
        self.configuration = configuration
        self.clock = clock
    }

    /// An encoded picture, before it is a still.
    private struct Picture {
        var data: PacketBuffer
        var size: PixelSize
        var orientation: VideoOrientation
        var color: ColorDescription
        var quality: Int?
        var isPassedThrough = false
    }

    /// - Parameters:
    ///   - job: the frame, and how to encode it.
    ///   - backlog: how many other frames wait.
    ///   - cameraModel: the camera's name, for EXIF.
    func encode(_ job: StillJob, backlog: Int, cameraModel: String?) throws(StillCaptureError) -> Still {
        let frame = job.frame
        let settings = job.request.settings
        let age = clock.now - frame.timestamp
        let date = wallClockTime() - age
        var exif: EXIF?
        if settings.writesEXIF {
            exif = EXIF(
                make: configuration.cameraMake, model: cameraModel, software: configuration.software,
                orientation: settings.orientation == .written ? frame.orientation : .up,
                size: PixelSize(width: 0, height: 0), date: date, utcOffset: EXIF.localOffset(at: date))
        }
        let picture: Picture
        do {
            switch settings.format {
            case .jpeg: picture = try makeJPEG(frame, settings, backlog, exif)
            case .png: picture = try makePNG(frame, settings, exif)
            case .nv12: picture = try makeSamples(frame, settings)
            }
        } catch {
            throw StillCaptureError(encoding: error)
        }
        return Still(
            id: job.request.id, number: 1, data: picture.data, format: settings.format, size: picture.size,
            orientation: picture.orientation, color: picture.color, timestamp: frame.timestamp, date: date,
            offset: frame.timestamp - job.request.moment, sequenceNumber: frame.sequenceNumber,
            quality: picture.quality, isQualityReduced: picture.quality.map { $0 < settings.quality } ?? false,
            isPassedThrough: picture.isPassedThrough, latency: clock.now - job.request.moment)
    }

    // MARK: JPEG

    private func makeJPEG(
        _ frame: VideoFrame, _ settings: Still.Settings, _ backlog: Int, _ exif: EXIF?
    ) throws -> Picture {
        if settings.passesThrough, frame.pixelAspect.isSquare, let jpeg = frame.jpeg,
            settings.orientation == .written || frame.orientation == .up
        {
            let data = try jpeg.withRow(0, ofPlane: 0) {
                try finish($0, exif, PixelSize(width: jpeg.width, height: jpeg.height))
            }
            return Picture(
                data: data, size: PixelSize(width: jpeg.width, height: jpeg.height), orientation: frame.orientation,
                color: .jpeg, isPassedThrough: true)
        }
        let upright = try prepare(frame, settings) { frame in
            guard !JPEGEncoder.canEncode(frame) else { return nil }
            return FrameTransform(pixelFormat: .i420, color: .jpeg)
        }
        let quality = StillEncoder.quality(settings, backlog: backlog, workers: configuration.workerCount)
        let size = PixelSize(width: upright.width, height: upright.height)
        var data: PacketBuffer?
        try encoder(quality).encode(upright) { packet in
            data = try packet.data.withUnsafeBytes { bytes in try finish(bytes, exif, size) }
        }
        return Picture(
            data: data!, size: size, orientation: upright.orientation, color: .jpeg, quality: quality)
    }

    /// The bytes of a JPEG file, in memory of their own.
    private func finish(_ jpeg: UnsafeRawBufferPointer, _ exif: EXIF?, _ size: PixelSize) throws -> PacketBuffer {
        var exif = exif
        exif?.size = size
        guard let file = try JPEGFile.make(of: jpeg, exif: exif) else { return PacketBuffer(copying: jpeg) }
        return file.withUnsafeBytes { PacketBuffer(copying: $0) }
    }

    private func encoder(_ quality: Int) throws(CodecError) -> JPEGEncoder {
        if let encoder = encoders[quality] { return encoder }
        let made = try JPEGEncoder(quality: quality, passesThrough: false)
        encoders[quality] = made
        return made
    }

    /// The quality asked for, less a step of ten for each frame that waits beyond one for each worker.
    static func quality(_ settings: Still.Settings, backlog: Int, workers: Int) -> Int {
        guard let minimum = settings.minimumQuality else { return settings.quality }
        return max(minimum, settings.quality - 10 * max(0, backlog - workers))
    }

    // MARK: Others

    private func makePNG(_ frame: VideoFrame, _ settings: Still.Settings, _ exif: EXIF?) throws -> Picture {
        let picture = try prepare(frame, settings) { _ in FrameTransform(pixelFormat: .rgb24) }
        let size = PixelSize(width: picture.width, height: picture.height)
        var exif = exif
        exif?.size = size
        let metadata = exif?.bytes
        let stride = picture.buffer.planes[0].bytesPerRow
        let data = try picture.buffer.withUnsafePlanes { planes in
            try metadata.withOptionalBytes { bytes in
                var source = cpng_source(
                    width: UInt32(size.width), height: UInt32(size.height),
                    samples: planes[0].assumingMemoryBound(to: UInt8.self), stride: stride,
                    exif: bytes?.baseAddress, exif_count: bytes?.count ?? 0, level: 3)
                var output = cpng_output()
                let result = cpng_encode(&source, &output)
                defer { cpng_free(&output) }
                guard result == CPNG_OK else { throw StillEncoder.failure(result, &output) }
                return PacketBuffer(copying: UnsafeRawBufferPointer(start: output.bytes, count: output.count))
            }
        }
        return Picture(data: data, size: size, orientation: picture.orientation, color: picture.color)
    }

    private static func failure(_ result: cpng_result, _ output: inout cpng_output) -> StillCaptureError {
        let detail = withUnsafeBytes(of: &output.message) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        guard result == CPNG_OUT_OF_MEMORY else {
            return StillCaptureError(
                .encoding, operation: "encode the still", subject: "PNG", message: "libpng failed: \(detail).")
        }
        return StillCaptureError(
            .outOfMemory, operation: "encode the still", subject: "PNG",
            message: "The machine has no memory left; use a smaller size or fewer outstanding stills.")
    }

    private func makeSamples(_ frame: VideoFrame, _ settings: Still.Settings) throws -> Picture {
        let picture = try prepare(frame, settings) { _ in FrameTransform(pixelFormat: .nv12) }
        let buffer = picture.buffer
        var samples: [UInt8] = []
        samples.reserveCapacity(PixelFormat.nv12.packedByteCount(width: buffer.width, height: buffer.height))
        for (index, plane) in buffer.planes.enumerated() {
            for row in 0..<plane.rows { buffer.withRow(row, ofPlane: index) { samples += $0 } }
        }
        return Picture(
            data: samples.withUnsafeBytes { PacketBuffer(copying: $0) },
            size: PixelSize(width: buffer.width, height: buffer.height), orientation: picture.orientation,
            color: picture.color)
    }

    /// The frame in a format that can be encoded, in square pixels, and upright where that is asked for.
    ///
    /// - Parameter conversion: what a frame needs; nil for nothing.
    private func prepare(
        _ frame: VideoFrame, _ settings: Still.Settings, _ conversion: (VideoFrame) -> FrameTransform?
    ) throws(CaptureError) -> VideoFrame {
        var transform = conversion(frame)
        if settings.orientation == .applied, frame.orientation != .up {
            // Packed 4:2:2 cannot be turned; it becomes NV12.
            transform = transform ?? FrameTransform(color: frame.color)
            transform!.appliesOrientation = true
        }
        if !frame.pixelAspect.isSquare {
            transform = transform ?? FrameTransform(color: frame.color)
            transform!.squaresPixels = true
        }
        return try transform.map { (transform) throws(CaptureError) in try processor.apply(transform, to: frame) }
            ?? frame
    }
}

extension [UInt8]? {
    fileprivate func withOptionalBytes<Result>(
        _ body: (UnsafeBufferPointer<UInt8>?) throws -> Result
    ) rethrows -> Result {
        guard let self else { return try body(nil) }
        return try self.withUnsafeBufferPointer { try body($0) }
    }
}
