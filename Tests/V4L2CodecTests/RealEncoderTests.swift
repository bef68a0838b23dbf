import CLibV4L2
import CameraCapturer
import CapturerTestKit
import TestTools
import Testing
import V4L2Support
import VideoCapturing

@testable import V4L2Codec

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The kernel's virtual codec, vicodec, which encodes a format of its own: the queues and states of the encoder with a
/// real driver. `Tests/CameraGuest/test_our_encoder.py` runs it and names the nodes.
enum Vicodec {
    static let encoder = environment("CAPTURER_ENCODER")
    static let decoder = environment("CAPTURER_DECODER")
    /// A camera whose driver exports its memory.
    static let camera = environment("CAPTURER_CAMERAS")
    static let isThere = encoder != nil && decoder != nil
    static let format: FourCC = "FWHT"

    static func configuration(_ purpose: EncodingSettings.Purpose = .file) -> V4L2VideoEncoder.Configuration {
        var configuration = V4L2VideoEncoder.Configuration(bitrate: 1_000_000, purpose: purpose)
        configuration.codedFormat = format
        // As vicodec does it unasked.
        configuration.keyFrameInterval = FrameRate(30).time(ofFrame: 10)
        return configuration
    }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// All packets of frames, those that come late included.
private func encode(
    _ encoder: V4L2VideoEncoder, _ frames: [VideoFrame], before: (Int) throws -> Void = { _ in }
) throws -> [MediaPacket] {
    var packets: [MediaPacket] = []
    for (index, frame) in frames.enumerated() {
        try before(index)
        try encoder.encode(frame) { packets.append($0) }
    }
    try encoder.flush { packets.append($0) }
    return packets
}

@Suite(.enabled(if: Vicodec.isThere, "CAPTURER_ENCODER names no encoder."), .serialized)
struct RealEncoderTests {
    @Test func isFoundByWhatItCanDo() throws {
        let devices = try V4L2EncoderDevice.all(encoding: Vicodec.format)
        #expect(devices.map(\.path) == [Vicodec.encoder])
        #expect(devices.first?.driver == "vicodec")
        #expect(devices.first?.pixelFormats == [.nv12, .i420])
        #expect(V4L2VideoEncoder.failure(codedFormat: Vicodec.format) == nil)
        // It encodes nothing else, and its decoder is no encoder.
        #expect(V4L2VideoEncoder.failure()?.code == .unavailable)
        #expect(V4L2VideoEncoder.failure(of: Vicodec.decoder, codedFormat: Vicodec.format)?.code == .formatUnsupported)
        if let camera = Vicodec.camera {
            #expect(V4L2VideoEncoder.failure(of: camera, codedFormat: Vicodec.format)?.code == .unavailable)
        }
    }

    /// The packets are those that v4l2-ctl gets of the same frames, byte for byte, and its decoder shows the frames.
    @Test(
        arguments: [PixelFormat.nv12, .i420], [PixelSize(width: 640, height: 480), PixelSize(width: 1280, height: 712)])
    func encodesAsOthersDo(_ format: PixelFormat, _ size: PixelSize) throws {
        let frames = try (0..<24).map { try movingFrame(format, size, step: $0) }
        let packets = try encode(V4L2VideoEncoder(Vicodec.configuration()), frames)
        #expect(packets.map(\.timestamp) == frames.map(\.timestamp))
        #expect(packets.map(\.sequenceNumber) == frames.map(\.sequenceNumber))
        #expect(packets.indices.filter { packets[$0].isKeyFrame } == [0, 10, 20])
        let folder = TemporaryFolder()
        try folder.write(frames.flatMap { packed($0.buffer) }, to: "raw")
        let ours = packets.flatMap(bytes(of:))
        try folder.write(ours, to: "ours")
        let name = format == .nv12 ? "NV12" : "YU12"
        try run(
            "v4l2-ctl",
            [
                "-d", Vicodec.encoder!,
                "--set-fmt-video-out=width=\(size.width),height=\(size.height),pixelformat=\(name),colorspace=rec709,"
                    + "ycbcr=709,quantization=lim-range,xfer=default",
                "--set-selection-output=target=crop,width=\(size.width),height=\(size.height)", "--stream-mmap",
                "--stream-out-mmap", "--stream-from=\(folder.file("raw"))", "--stream-to=\(folder.file("theirs"))",
            ], in: nil)
        let theirs = try folder.read("theirs")
        if size.height % 16 == 0 {
            let isSame = ours == theirs
            #expect(isSame, "\(ours.count) bytes, theirs \(theirs.count)")
        } else {
            // Blocks reach beyond the picture, where programs leave different bytes; what is shown must be right.
            #expect(!theirs.isEmpty)
        }
        try run(
            "v4l2-ctl",
            [
                "-d", Vicodec.decoder!, "--stream-mmap", "--stream-out-mmap", "--stream-from=\(folder.file("ours"))",
                "--stream-to=\(folder.file("decoded"))",
            ], in: nil)
        let decoded = try folder.read("decoded")
        let frameBytes = size.width * size.height * 3 / 2
        #expect(decoded.count == frames.count * frameBytes)
        // Some of them, since loops over pixels are slow in a build for debugging.
        for (index, frame) in frames.enumerated() where index % 5 == 4 && (index + 1) * frameBytes <= decoded.count {
            let luma = size.width * size.height
            let picture = decoded[index * frameBytes..<index * frameBytes + luma]
            let error = lumaError(picture, packed(frame.buffer)[..<luma])
            #expect(error < 6, "picture \(index) of \(format) \(size)")
        }
    }

    @Test func keyFramesComeOnDemand() throws {
        let encoder = try V4L2VideoEncoder(Vicodec.configuration())
        let frames = try (0..<30).map { try movingFrame(step: $0) }
        let packets = try encode(encoder, frames) { if [4, 5, 17].contains($0) { encoder.requestKeyFrame() } }
        #expect(packets.map(\.sequenceNumber) == (0..<30).map { UInt64($0) })
        let keys = packets.indices.filter { packets[$0].isKeyFrame }
        // Those asked for, and ten frames after each.
        #expect(keys == [0, 4, 5, 15, 17, 27])
        #expect(encoder.damagedPacketCount == 0)
    }

    @Test func theIntervalChangesAtRunTime() throws {
        let encoder = try V4L2VideoEncoder(Vicodec.configuration())
        let frames = try (0..<20).map { try movingFrame(step: $0) }
        let packets = try encode(encoder, frames) { index in
            if index == 10 {
                // Before, so that the driver counts what it is told.
                encoder.requestKeyFrame()
                try encoder.setKeyFrameInterval(FrameRate(30).time(ofFrame: 3))
            }
        }
        #expect(packets.indices.filter { packets[$0].isKeyFrame } == [0, 10, 13, 16, 19])
    }

    /// A live encoder gives each frame's packet at once; a second is enough for any machine.
    @Test func liveEncodersHoldNothingBack() throws {
        let encoder = try V4L2VideoEncoder(Vicodec.configuration(.live))
        for step in 0..<8 {
            var times: [MediaTime] = []
            let frame = try movingFrame(step: step, rate: 1)
            try encoder.encode(frame) { times.append($0.timestamp) }
            #expect(times == [frame.timestamp])
        }
    }

    @Test func sizesChangeWithAKeyFrame() throws {
        let encoder = try V4L2VideoEncoder(Vicodec.configuration())
        let sizes = [
            PixelSize(width: 640, height: 480), PixelSize(width: 800, height: 600), PixelSize(width: 640, height: 368),
        ]
        let frames = try (0..<9).map { try movingFrame(.nv12, sizes[$0 / 3], step: $0) }
        let packets = try encode(encoder, frames)
        #expect(packets.map { PixelSize(width: $0.width, height: $0.height) } == (0..<9).map { sizes[$0 / 3] })
        #expect(packets.indices.filter { packets[$0].isKeyFrame } == [0, 3, 6])
        #expect(encoder.track?.codec.rawValue == "fwht")
    }

    @Test func sizesThatItDoesNotEncodeAreRefused() throws {
        let encoder = try V4L2VideoEncoder(Vicodec.configuration())
        for size in [
            PixelSize(width: 320, height: 240), PixelSize(width: 4112, height: 480),
            PixelSize(width: 640, height: 2176),
        ] {
            #expect {
                try encoder.encode(try movingFrame(.nv12, size, step: 0)) { _ in }
            } throws: { error in
                let error = error as? CodecError
                return error?.code == .formatUnsupported && error?.message.contains("640x360 to 4096x2160") == true
            }
        }
        #expect {
            let buffer = try PixelBuffer.black(.argb, width: 640, height: 480, color: .jpeg)
            try encoder.encode(VideoFrame(buffer: buffer, timestamp: .zero)) { _ in }
        } throws: {
            ($0 as? CodecError)?.code == .formatUnsupported
        }
        // None of it did harm.
        #expect(try encode(encoder, [try movingFrame(step: 1)]).count == 1)
    }

    @Test func flushesGiveWhatIsThere() throws {
        let encoder = try V4L2VideoEncoder(Vicodec.configuration())
        try encoder.flush { _ in Issue.record("a packet of nothing") }
        for step in 0..<4 {
            let packets = try encode(encoder, [try movingFrame(step: step)])
            #expect(packets.map(\.isKeyFrame) == [true])
            try encoder.flush { _ in Issue.record("a packet of nothing") }
        }
    }

    @Test func twoAtATimeDoNotMix() async throws {
        let colors = [0, 40]
        let alone = try colors.map { offset in
            try encode(V4L2VideoEncoder(Vicodec.configuration()), (0..<40).map { try movingFrame(step: offset + $0) })
                .flatMap(bytes(of:))
        }
        let together = try await withThrowingTaskGroup(of: (Int, [UInt8]).self) { group in
            for (index, offset) in colors.enumerated() {
                group.addTask {
                    let frames = try (0..<40).map { try movingFrame(step: offset + $0) }
                    return (index, try encode(V4L2VideoEncoder(Vicodec.configuration()), frames).flatMap(bytes(of:)))
                }
            }
            var results: [Int: [UInt8]] = [:]
            for try await (index, bytes) in group { results[index] = bytes }
            return colors.indices.map { results[$0] ?? [] }
        }
        #expect(together == alone)
        #expect(alone[0] != alone[1])
    }

    /// A camera's frames are read where its driver has put them, and give the same packets as copies of them.
    @Test(.enabled(if: Vicodec.camera != nil, "CAPTURER_CAMERAS names no camera."))
    func camerasFramesAreNotCopied() throws {
        let consumer = RecordingConsumer(limit: 3)
        let capture = CameraCapturer(
            device: Vicodec.camera!, preset: PixelSize(width: 1280, height: 720),
            desiredFrameRate: FrameRate(25, per: 2)!)
        capture.videoCaptureConsumer = consumer
        try capture.initCapture()
        defer { capture.releaseCapture() }
        try capture.startCapture()
        #expect(consumer.waitForFrames(3))
        let frames = Array(consumer.frames.prefix(3))
        try #require(frames.allSatisfy { $0.pixelFormat == .nv12 })
        let importing = try V4L2VideoEncoder(Vicodec.configuration())
        let imported = try encode(importing, frames)
        #expect(importing.importedFrameCount == 3)
        let copies = try frames.map { frame in
            var copy = frame
            copy.buffer = try PixelBuffer.make(.nv12, width: frame.width, height: frame.height) { pixels in
                for plane in 0..<2 {
                    pixels.withBytes(ofPlane: plane) { memory in
                        let planes = frame.buffer.planes
                        let stride = memory.count / planes[plane].rows
                        for row in 0..<planes[plane].rows {
                            frame.buffer.withRow(row, ofPlane: plane) {
                                (memory.baseAddress! + row * stride).copyMemory(
                                    from: $0.baseAddress!, byteCount: $0.count)
                            }
                        }
                    }
                }
            }
            return copy
        }
        let copying = try V4L2VideoEncoder(Vicodec.configuration())
        #expect(try encode(copying, copies).map(bytes(of:)) == imported.map(bytes(of:)))
        #expect(copying.importedFrameCount == 0)
        // Frames of both kinds: copied from then on.
        let mixing = try V4L2VideoEncoder(Vicodec.configuration())
        #expect(try encode(mixing, [frames[0], copies[1], frames[2]]).count == 3)
        #expect(mixing.importedFrameCount == 1)
        try capture.stopCapture()
    }

    @Test func aRemovedDeviceIsToldAndFoundAgain() throws {
        let encoder = try V4L2VideoEncoder(Vicodec.configuration())
        var count = 0
        for step in 0..<5 { try encoder.encode(try movingFrame(step: step)) { _ in count += 1 } }
        try writeBytes(Array("vicodec.0".utf8), to: "/sys/bus/platform/drivers/vicodec/unbind")
        #expect {
            for step in 5..<20 { try encoder.encode(try movingFrame(step: step)) { _ in } }
        } throws: { error in
            let error = error as? CodecError
            return error?.code == .unavailable && error?.systemError == ENODEV && error?.subject == Vicodec.encoder
        }
        // Nothing is there to encode with.
        #expect { try encoder.encode(try movingFrame(step: 20)) { _ in } } throws: {
            ($0 as? CodecError)?.code == .unavailable
        }
        try writeBytes(Array("vicodec.0".utf8), to: "/sys/bus/platform/drivers/vicodec/bind")
        let packets = try encode(encoder, (21..<25).map { try movingFrame(step: $0) })
        #expect(packets.map(\.sequenceNumber) == [21, 22, 23, 24])
        #expect(packets.first?.isKeyFrame == true)
    }

    @Test func longRunsNeedNoMoreMemory() throws {
        let frames = try (0..<30).map { try movingFrame(step: $0) }
        let encoder = try V4L2VideoEncoder(Vicodec.configuration())
        var count = 0
        var memory = 0
        for number in 0..<3000 {
            var frame = frames[number % frames.count]
            frame.timestamp = MediaTime.zero.advanced(by: FrameRate(30).time(ofFrame: Int64(number)))
            frame.sequenceNumber = UInt64(number)
            try encoder.encode(frame) { packet in
                #expect(packet.sequenceNumber == UInt64(count))
                count += 1
            }
            if number % 97 == 50 { encoder.requestKeyFrame() }
            if number == 600 { memory = residentMemory() }
        }
        try encoder.flush { _ in count += 1 }
        #expect(count == 3000)
        #expect(encoder.damagedPacketCount == 0)
        #expect(residentMemory() - memory < 8 << 20)
    }

    /// What vicodec has no controls for: they are answered in front of it, and all else is the driver's.
    @Test func controlsAreSetBeforeTheirFrames() throws {
        let calls = ControlRecorder([
            EncoderControl.bitrate, EncoderControl.forceKeyFrame, EncoderControl.h264Period,
            UInt32(V4L2_CID_MPEG_VIDEO_REPEAT_SEQ_HEADER),
        ])
        var configuration = Vicodec.configuration()
        configuration.device = Vicodec.encoder
        configuration.keyFrameInterval = FrameRate(30).time(ofFrame: 6)
        let encoder = try V4L2VideoEncoder(configuration, calls: calls)
        let frames = try (0..<9).map { try movingFrame(step: $0) }
        let packets = try encode(encoder, frames) { index in
            if index == 2 { try encoder.setBitrate(500_000) }
            if index == 4 { encoder.requestKeyFrame() }
        }
        #expect(packets.count == 9)
        let force = ControlRecorder.Call.control(EncoderControl.forceKeyFrame, 1)
        #expect(
            calls.recorded == [
                .control(EncoderControl.bitrate, 1_000_000),
                .control(UInt32(V4L2_CID_MPEG_VIDEO_REPEAT_SEQ_HEADER), 1),
                // Key frames are asked for by the capture's time.
                .control(EncoderControl.h264Period, .max), .streamOn, .streamOn,
                force, .frame, .frame, .control(EncoderControl.bitrate, 500_000), .frame, .frame,
                force, .frame, .frame, .frame, .frame, .frame, .streamOff, .streamOff,
            ])
    }
}

/// A driver with further controls, which it takes and does not follow.
///
/// `@unchecked Sendable`: all that changes is behind the lock.
private final class ControlRecorder: DeviceCalls, @unchecked Sendable {
    enum Call: Equatable {
        case control(UInt32, Int32)
        case frame
        case streamOn
        case streamOff
    }

    private let system = SystemDeviceCalls()
    private let ids: Set<UInt32>
    private let calls = Locked<[Call]>([])

    init(_ ids: Set<UInt32>) { self.ids = ids }

    var recorded: [Call] { calls.withLock { $0 } }

    func ioctl(_ descriptor: Int32, _ request: UInt, _ argument: UnsafeMutableRawPointer) -> Int32 {
        switch request {
        case DeviceRequest.queryControl.code:
            let query = argument.assumingMemoryBound(to: v4l2_query_ext_ctrl.self)
            guard ids.contains(query.pointee.id) else { break }
            query.pointee.minimum = 0
            query.pointee.maximum = Int64(Int32.max)
            query.pointee.flags = 0
            return 0
        case DeviceRequest.setControls.code:
            let controls = argument.assumingMemoryBound(to: v4l2_ext_controls.self)
            guard let control = controls.pointee.controls?.pointee, ids.contains(control.id) else { break }
            calls.withLock { $0.append(.control(control.id, control.value)) }
            return 0
        case DeviceRequest.queueBuffer.code:
            let type = argument.assumingMemoryBound(to: v4l2_buffer.self).pointee.type
            let isFrame =
                type == V4L2_BUF_TYPE_VIDEO_OUTPUT.rawValue || type == V4L2_BUF_TYPE_VIDEO_OUTPUT_MPLANE.rawValue
            if isFrame { calls.withLock { $0.append(.frame) } }
        case DeviceRequest.streamOn.code: calls.withLock { $0.append(.streamOn) }
        case DeviceRequest.streamOff.code: calls.withLock { $0.append(.streamOff) }
        default: break
        }
        return system.ioctl(descriptor, request, argument)
    }

    func open(_ path: String) -> Int32 { system.open(path) }
    func close(_ descriptor: Int32) { system.close(descriptor) }
    func map(
        _ descriptor: Int32, byteCount: Int, offset: UInt32, isWritable: Bool
    ) -> (address: UnsafeMutableRawPointer?, error: Int32) {
        system.map(descriptor, byteCount: byteCount, offset: offset, isWritable: isWritable)
    }
    func detach(_ address: UnsafeMutableRawPointer, byteCount: Int) { system.detach(address, byteCount: byteCount) }
    func unmap(_ address: UnsafeMutableRawPointer, byteCount: Int) { system.unmap(address, byteCount: byteCount) }
    func setWaiting(_ descriptor: Int32, _ isWaiting: Bool) -> Bool { system.setWaiting(descriptor, isWaiting) }
}
