import MediaContainers
import VideoCapturing

/// A frame whose samples count up from `seed`.
func makeFrame(
    _ pixelFormat: PixelFormat = .i420, _ width: Int = 5, _ height: Int = 3, seed: Int = 0, at time: Duration = .zero,
    color: ColorDescription? = nil
) throws -> VideoFrame {
    var next = seed
    let buffer = try PixelBuffer.make(pixelFormat, width: width, height: height) { pixels in
        for plane in pixels.planes.indices {
            // Padding gets another value than the samples, so that writing it would be seen.
            pixels.fill(plane: plane, with: 0xEE)
            pixels.fill(plane: plane) { _, _ in
                defer { next += 1 }
                return UInt8(truncatingIfNeeded: next % 200)
            }
        }
    }
    return VideoFrame(buffer: buffer, timestamp: MediaTime(nanoseconds: time.nanoseconds), color: color)
}

/// The samples that ``makeFrame`` makes, without padding.
func packedSamples(_ pixelFormat: PixelFormat = .i420, _ width: Int = 5, _ height: Int = 3, seed: Int = 0) -> [UInt8] {
    (0..<pixelFormat.packedByteCount(width: width, height: height)).map { UInt8(($0 + seed) % 200) }
}

/// The samples of a picture, without padding.
func samples(of buffer: PixelBuffer) -> [UInt8] {
    var bytes: [UInt8] = []
    for plane in buffer.planes.indices {
        for row in 0..<buffer.planes[plane].rows {
            buffer.withRow(row, ofPlane: plane) { bytes += Array($0) }
        }
    }
    return bytes
}

/// A packet whose bytes are no VP8, for what does not decode.
func makePacket(
    _ bytes: [UInt8], at time: Duration, isKeyFrame: Bool = false, duration: Duration = .milliseconds(33),
    width: Int = 64, height: Int = 48, color: ColorDescription = .bt601
) -> MediaPacket {
    MediaPacket(
        data: bytes.withUnsafeBytes { PacketBuffer(copying: $0) },
        // Far from zero, since captures begin hours after the boot.
        timestamp: MediaTime(nanoseconds: 5_000_000_123 + time.nanoseconds), duration: duration,
        isKeyFrame: isKeyFrame, width: width, height: height,
        attributes: FrameAttributes(color: color))
}

/// The track of ``makePacket(_:at:isKeyFrame:duration:width:height:color:)``.
func makeTrack(
    _ codec: Codec = .vp8, id: TrackID = 0, width: Int = 64, height: Int = 48, color: ColorDescription = .bt601
) -> TrackDescription {
    TrackDescription(
        id: id, codec: codec,
        media: .video(TrackDescription.Video(width: width, height: height, color: color)))
}

func littleEndian(_ value: UInt64, _ byteCount: Int) -> [UInt8] {
    (0..<byteCount).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
}

/// The bytes of an IVF file.
func ivf(
    fourCC: String = "VP80", width: Int = 64, height: Int = 48, denominator: UInt32 = 30, numerator: UInt32 = 1,
    stated: UInt32 = 0, headerLength: Int = 32, packets: [(timestamp: Int64, bytes: [UInt8])]
) -> [UInt8] {
    var bytes = Array("DKIF".utf8) + [0, 0] + littleEndian(UInt64(headerLength), 2) + Array(fourCC.utf8)
    bytes += littleEndian(UInt64(width), 2) + littleEndian(UInt64(height), 2)
    bytes += littleEndian(UInt64(denominator), 4) + littleEndian(UInt64(numerator), 4)
    bytes += littleEndian(UInt64(stated), 4) + [0, 0, 0, 0]
    bytes += [UInt8](repeating: 0xAA, count: max(0, headerLength - 32))
    for packet in packets {
        bytes += littleEndian(UInt64(packet.bytes.count), 4)
        bytes += littleEndian(UInt64(bitPattern: packet.timestamp), 8) + packet.bytes
    }
    return bytes
}

/// Runs `body`, which must throw a `MediaFileError`, and returns it.
func mediaFileError<Result>(_ body: () throws -> Result) -> MediaFileError? {
    do {
        _ = try body()
        return nil
    } catch {
        return error as? MediaFileError
    }
}
