import CLibV4L2
import CapturerTestKit
import H264Bitstream
import PacketCapturing
import TestTools
import Testing
import VideoCapturing

@testable import CameraCapturer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite struct CameraPacketTests {
    @Test(arguments: [Codec.h264, .hevc], EncodedPictures.Sets.allCases.filter { $0 != .never })
    func keepsParameterSets(codec: Codec, sets: EncodedPictures.Sets) throws {
        let pictures = EncodedPictures(codec: codec, sets: sets)
        let run = try PacketRun.running(PacketRun.h264(pictures), packets: 12)
        try run.capture.stopCapture()
        #expect(run.disorder == nil)
        let track = try #require(run.capture.captureSettings().tracks.first)
        let configuration = track.decoderConfiguration?.withUnsafeBytes { Array($0) }
        let expected = EncodedPictures.parameterSets(codec)
        let avc = expected.withUnsafeBytes { try? AVCDecoderConfiguration(annexB: $0) }
        #expect(track.codec == codec && configuration == (codec == .h264 ? avc?.bytes : expected))
        for (index, packet) in run.packets.enumerated() {
            let number = UInt32(index)
            #expect(EncodedPictures.number(packet) == number && packet.isKeyFrame == pictures.isKeyFrame(number))
            let bare = EncodedPictures(codec: codec, sets: .never)(number)
            #expect(EncodedPictures.bytes(packet) == (packet.isKeyFrame ? expected : []) + bare)
            #expect(packet.width == 64 && packet.height == 48 && packet.duration == .milliseconds(5))
        }
        // A stop may overtake a packet.
        let lost = run.capture.statistics.tracks.first?.packetsLost
        #expect(lost?.source == 0 && lost?.undecodable == 0)
    }

    @Test func passesOnJPEG() throws {
        let machine = StreamingMachine([FakeCamera.Mode(fourCC: .mjpeg, width: 19, height: 9, rate: 200)])
        machine.camera.set { $0.content = TestJPEG.yuv422.bytes }
        let run = try PacketRun.running(machine)
        try run.capture.stopCapture()
        #expect(run.packets.allSatisfy { EncodedPictures.bytes($0) == TestJPEG.yuv422.bytes && $0.isKeyFrame })
        #expect(run.packets.allSatisfy { $0.attributes.color == .jpeg })
        #expect(run.capture.captureSettings().tracks.map(\.codec) == [.jpeg])
        #expect(run.capture.requestKeyFrame() && run.disorder == nil && run.leak == nil)
    }

    /// JPEG is thinned out to the desired rate without a loss; H.264 cannot be.
    @Test(arguments: [FourCC.mjpeg, .h264])
    func keepsToTheRate(fourCC: FourCC) throws {
        let machine = StreamingMachine([FakeCamera.Mode(fourCC: fourCC, width: 19, height: 9, rate: 200)])
        machine.camera.set {
            $0.contents = { fourCC == .mjpeg ? TestJPEG.yuv422.bytes : EncodedPictures()($0) }
            $0.bufferLength = 4096
        }
        let run = try PacketRun.running(machine, .init(desiredFrameRate: 50), packets: 9)
        try run.capture.stopCapture()
        let packets = run.packets
        let times = zip(packets, packets.dropFirst()).map { $1.timestamp - $0.timestamp }
        #expect(times.allSatisfy { fourCC == .h264 || $0 > .milliseconds(12) }, "\(times)")
        #expect((run.capture.cameraStatistics.framesDecimated > 0) == (fourCC == .mjpeg))
        #expect(packets.map(\.sequenceNumber) == Array(0..<UInt64(packets.count)))
        #expect(run.frameRate == (fourCC == .mjpeg ? 50 : 200))
    }

    @Test(arguments: [false, true])
    func goesOnWithAKeyFrameAfterALoss(isDamaged: Bool) throws {
        let machine = PacketRun.h264()
        machine.camera.set { state in
            state.alter = { buffer in
                if isDamaged, buffer.sequence == 7 { buffer.flags |= UInt32(V4L2_BUF_FLAG_ERROR) }
                // Two are missing from here on.
                if !isDamaged, buffer.sequence >= 7 { buffer.sequence += 2 }
            }
        }
        let run = try PacketRun.running(machine, packets: 14)
        try run.capture.stopCapture()
        #expect(run.disorder == nil)
        let track = try #require(run.capture.statistics.tracks.first)
        #expect(run.packets.prefix(7).map(EncodedPictures.number) == Array(0..<7))
        #expect(EncodedPictures.number(run.packets[7]) == 10)
        #expect(track.packetsLost.source == (isDamaged ? 1 : 2))
        #expect(track.packetsLost.undecodable == (isDamaged ? 2 : 3))
        #expect(run.packets[7].sequenceNumber == (isDamaged ? 10 : 12))
    }

    /// A packet that fills its buffer was cut off; a packet begins with a start code.
    @Test func leavesOutDamagedPackets() throws {
        let machine = PacketRun.h264()
        machine.camera.set { state in
            let whole = EncodedPictures()
            state.contents = { number in
                switch number {
                case 6: whole(number) + [UInt8](repeating: 0xAB, count: 1 << 16)
                case 11: Array(whole(number).dropFirst(4))
                default: whole(number)
                }
            }
        }
        let run = try PacketRun.running(machine, packets: 14)
        try run.capture.stopCapture()
        #expect(run.disorder == nil)
        #expect(run.packets.prefix(12).map(EncodedPictures.number) == [0, 1, 2, 3, 4, 5, 10, 15, 16, 17, 18, 19])
        #expect(run.capture.cameraStatistics.framesDamaged >= 2)
    }

    @Test func goesOnAfterAReplug() throws {
        // It begins amid a group.
        let run = try PacketRun.running(PacketRun.h264(EncodedPictures(first: 2)))
        run.machine.unplug()
        #expect(eventually { run.capture.state == .interrupted(.deviceDisconnected) && !run.camera.isOpen })
        let before = run.packets.count
        run.machine.plug(as: "video3")
        #expect(run.waitForMore(8))
        #expect(run.waitForEvent(.reconnected(path: run.machine.path)))
        try run.capture.stopCapture()
        #expect(run.disorder == nil)
        let packets = run.packets
        #expect(packets[before].isKeyFrame && EncodedPictures.number(packets[before]) == 3)
        // Those that were lost while it was away, and the three without a key frame.
        #expect(packets[before].sequenceNumber >= packets[before - 1].sequenceNumber + 5)
        #expect(run.capture.statistics.interruptions == 1 && run.capture.cameraStatistics.reconnects == 1)
        #expect(run.leak == nil)
    }

    @Test func restarts() throws {
        let run = try PacketRun.running(PacketRun.h264(EncodedPictures(sets: .once)))
        for _ in 0..<3 {
            try run.capture.stopCapture()
            try run.start()
            #expect(run.waitForMore(7))
        }
        #expect(run.disorder == nil && run.leak == nil)
    }

    @Test func endsWhileTheFirstKeyFrameIsAwaited() throws {
        let run = PacketRun(
            PacketRun.h264(EncodedPictures(groupLength: .max, first: 1)), firstKeyFrameLimit: .seconds(300))
        let ended = Locked<CaptureError?>(nil)
        _ = try CaptureThread(name: "init") { [capture = run.capture] in
            do throws(CaptureError) { try capture.initCapture() } catch { ended.withLock { $0 = error } }
            ended.wakeAll()
        }
        #expect(eventually { run.camera.calls(of: clibv4l2_DQBUF) > 3 })
        run.capture.releaseCapture()
        #expect(eventually { ended.withLock { $0 } != nil } && run.leak == nil)
    }

    @Test(arguments: [EncodedPictures(groupLength: .max, first: 1), EncodedPictures(sets: .never)])
    func saysThatThereIsNoKeyFrame(pictures: EncodedPictures) throws {
        let run = PacketRun(PacketRun.h264(pictures), firstKeyFrameLimit: .milliseconds(200))
        let error = #expect(throws: CaptureError.self) { try run.capture.initCapture() }
        #expect(error?.code == .formatUnsupported && error?.message.contains("key frame") == true, "\(error as Any)")
        #expect(run.capture.state == .idle && run.leak == nil)
    }
}

@Suite struct CameraEncoderTests {
    private static func machine(_ controls: [FakeControlDriver.Control]) -> StreamingMachine {
        let machine = PacketRun.h264(rate: 200)
        machine.camera.set { state in
            state.firstControls.controls = controls
            state.controls = state.firstControls
        }
        return machine
    }

    private static func control(_ id: Int32, _ title: String, _ type: v4l2_ctrl_type = V4L2_CTRL_TYPE_INTEGER)
        -> FakeControlDriver.Control
    {
        .init(id: id, type: type, title: title, maximum: 10_000_000)
    }

    @Test func setsTheEncoder() throws {
        let machine = CameraEncoderTests.machine([
            CameraEncoderTests.control(V4L2_CID_MPEG_VIDEO_BITRATE, "Video Bitrate"),
            CameraEncoderTests.control(V4L2_CID_MPEG_VIDEO_H264_I_PERIOD, "H264 I-Frame Period"),
            CameraEncoderTests.control(V4L2_CID_MPEG_VIDEO_REPEAT_SEQ_HEADER, "Repeat Sequence Header"),
        ])
        let run = try PacketRun.running(
            machine, .init(desiredFrameRate: 200, bitrate: 2_000_000, keyFrameInterval: .seconds(2)))
        func areSet() -> Bool {
            machine[V4L2_CID_MPEG_VIDEO_BITRATE] == 2_000_000 && machine[V4L2_CID_MPEG_VIDEO_H264_I_PERIOD] == 400
                && machine[V4L2_CID_MPEG_VIDEO_REPEAT_SEQ_HEADER] == 1
        }
        #expect(areSet())
        machine.unplug()
        machine.plug()
        #expect(run.waitForMore(5) && eventually(areSet))
        #expect(!run.capture.requestKeyFrame())
    }

    @Test func saysThatItCannotBeSet() throws {
        let run = PacketRun(CameraEncoderTests.machine([]), .init(desiredFrameRate: 200, bitrate: 2_000_000))
        let error = #expect(throws: CaptureError.self) { try run.capture.initCapture() }
        #expect(error?.code == .invalidConfiguration && error?.message.contains("bitrate") == true, "\(error as Any)")
        #expect(run.leak == nil)
    }

    @Test func asksForKeyFrames() throws {
        let machine = CameraEncoderTests.machine([
            CameraEncoderTests.control(V4L2_CID_MPEG_VIDEO_FORCE_KEY_FRAME, "Force Key Frame", V4L2_CTRL_TYPE_BUTTON)
        ])
        let run = try PacketRun.running(machine)
        func count() -> Int {
            machine.camera.get { $0.controls.writes.filter { $0 == V4L2_CID_MPEG_VIDEO_FORCE_KEY_FRAME }.count }
        }
        #expect(count() == 0)
        #expect(run.capture.requestKeyFrame())
        #expect(eventually { count() == 1 })
        machine.camera.set { state in
            state.alter = { if $0.sequence % 50 == 0 { $0.flags |= UInt32(V4L2_BUF_FLAG_ERROR) } }
        }
        #expect(eventually { count() > 1 }, "a loss asks for one too")
    }
}

@Suite struct CameraPacketConformanceTests {
    @Test func keepsTheContract() async {
        // The folders live as long as the machines.
        let machines = Locked<[StreamingMachine]>([])
        @Sendable func capture(failsOnce: Bool) -> CameraPacketCapturer {
            machines.withLock { machines in
                let machine = StreamingMachine([FakeCamera.Mode(fourCC: .h264, width: 32, height: 24, rate: 250)])
                machine.camera.set { state in
                    state.contents = { EncodedPictures()($0) }
                    // After the packets from which the parameter sets are learned.
                    if failsOnce { state.refusals = [.init(request: clibv4l2_DQBUF, after: 6, times: 1, number: EIO)] }
                }
                machines.append(machine)
                return CameraPacketCapturer(
                    .init(desiredFrameRate: 250, reconnects: !failsOnce), clock: MonotonicClock(),
                    directory: machine.directory)
            }
        }
        let report = await PacketConformanceSuite(
            name: "camera", makeFailingCapture: { capture(failsOnce: true) },
            makeCapture: { capture(failsOnce: false) }
        ).runDetached()
        #expect(report.failures.isEmpty, "\(report)")
        let isClean = machines.withLock { machines in
            machines.allSatisfy { !$0.camera.isOpen && $0.camera.mappings == 0 }
        }
        #expect(isClean)
    }
}
