import CapturerTestKit
import H264Bitstream
import StreamOutput
import TestTools
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// Receivers that connect to the output.
@Suite(.serialized) struct ReceiverTests {
    private func listening(_ change: (inout StreamOutput.Configuration) -> Void = { _ in }) throws -> StreamOutput {
        var configuration = StreamOutput.Configuration()
        // Packets are written faster than their times say.
        configuration.maximumDelay = .seconds(3600)
        change(&configuration)
        let output = try StreamOutput("tcp://127.0.0.1:0?listen", configuration: configuration)
        try output.open()
        return output
    }

    @Test func eachReceiverGetsEachPacketFromAKeyFrameOn() throws {
        let output = try listening()
        let feed = try Feed(Clip.standard.get(), to: output)
        let receivers = try (0..<5).map { _ in try TestReceiver(port: output.port) }
        #expect(eventually { output.statistics.connections == 5 })
        #expect(feed.awaitRequests(1))
        let packets = try feed.write(60)
        output.finish()
        for receiver in receivers {
            expectSame(receiver.awaitEnd(), packets)
            #expect(accessUnits(receiver.bytes).first?.isKeyFrame == true)
        }
        let statistics = output.statistics
        #expect(statistics.packetsSent == 300 && statistics.packetsDropped == 0 && statistics.receivers.isEmpty)
        #expect(statistics.bytesSent == receivers.reduce(0) { $0 + UInt64($1.bytes.count) })
    }

    /// Defect of the sample: a unit is complete only with the next one, and the last one is lost.
    @Test func aUnitIsCompleteWithoutTheNext() throws {
        let output = try listening()
        let feed = try Feed(Clip.standard.get(), to: output)
        let receiver = try TestReceiver(port: output.port)
        #expect(feed.awaitRequests(1))
        for count in 1...20 {
            try feed.write(1)
            let isComplete = receiver.await { bytes in
                var parser = AccessUnitParser()
                var units = 0
                bytes.withUnsafeBytes { parser.append($0) { units += $0.hasSlices ? 1 : 0 } }
                return units == count
            }
            #expect(isComplete, "Unit \(count) was not complete by itself.")
        }
        output.finish()
    }

    /// Defect of the sample: who joins waits up to 60 frames for a key frame.
    @Test func aReceiverThatJoinsGetsAKeyFrameAtOnce() throws {
        let output = try listening()
        let feed = try Feed(Clip.standard.get(), to: output)
        let first = try TestReceiver(port: output.port)
        #expect(feed.awaitRequests(1))
        // The next of the clip would come after eleven more.
        try feed.write(4)
        let late = try TestReceiver(port: output.port)
        #expect(feed.awaitRequests(2))
        let packets = try feed.write(3)
        #expect(packets[0].isKeyFrame)
        #expect(late.await { accessUnits($0).count >= 2 })
        output.finish()
        expectSame(late.awaitEnd(), packets)
        let units = accessUnits(late.bytes)
        #expect(accessUnits(try #require(first.awaitEnd())).count == 7)
        let kinds = nalUnits(units[0].bytes).map { NALUnit.Kind(header: $0[0]) }
        #expect(Array(kinds.prefix(2)) == [.sps, .pps] && kinds.contains(.idrSlice))
    }

    /// An encoder that gives the parameter sets only once, as hardware does.
    @Test func eachKeyFrameHasParameterSets() throws {
        let clip = try Clip.standard.get()
        let head = try clip.units[0].bytes.withUnsafeBytes { try AVCDecoderConfiguration(annexB: $0) }
        var track = clip.track
        track.decoderConfiguration = head.bytes.withUnsafeBytes { PacketBuffer(copying: $0) }
        let output = try listening()
        try output.begin([track])
        let receiver = try TestReceiver(port: output.port)
        #expect(eventually { output.statistics.connections == 1 })
        for number in 0..<40 {
            var packet = clip.packet(number)
            var bare: [UInt8] = []
            for unit in nalUnits(packet.bytes) where ![.sps, .pps].contains(NALUnit.Kind(header: unit[0])) {
                unit.withUnsafeBytes { AnnexB.append(NALUnit($0)!, to: &bare) }
            }
            packet.data = bare.withUnsafeBytes { PacketBuffer(copying: $0) }
            try output.write(packet)
        }
        output.finish()
        let units = accessUnits(try #require(receiver.awaitEnd()))
        #expect(units.count == 40)
        for unit in units where unit.isKeyFrame {
            let kinds = nalUnits(unit.bytes).map { NALUnit.Kind(header: $0[0]) }
            #expect(Array(kinds.prefix(2)) == [.sps, .pps])
        }
    }

    /// With delimiters of the encoder's own there is one for each unit, and one too many at the end.
    @Test func delimitersAreNotDoubled() throws {
        let clip = Clip(try h264Clip(frames: 30, options: "repeat-headers=1:aud=1:slices=3"))
        let output = try listening()
        let feed = try Feed(clip, to: output)
        let receiver = try TestReceiver(port: output.port)
        #expect(feed.awaitRequests(1))
        try feed.write(30)
        output.finish()
        let bytes = try #require(receiver.awaitEnd())
        let delimiters = bytes.withUnsafeBytes { AnnexB.units(in: $0).count { $0.type == .delimiter } }
        #expect(delimiters == 31)
        expectSame(bytes, (0..<30).map { clip.packet($0) })
    }

    /// Defect of the sample: sends are lost silently, and nothing holds back. A receiver that reads nothing loses whole
    /// groups of pictures, is counted, and harms no other.
    @Test func aSlowReceiverLosesWholeGroups() throws {
        let clip = Clip(try h264Clip(frames: 60, size: "640x480", options: "repeat-headers=1:qp=8"))
        let output = try listening {
            $0.maximumWaitingBytes = 300_000
            $0.stallTimeout = .seconds(3600)
        }
        let feed = try Feed(clip, to: output)
        let good = try TestReceiver(port: output.port)
        let slow = try TestReceiver(port: output.port, isReading: false, bufferSize: 4096)
        #expect(eventually { output.statistics.connections == 2 })
        var written: [MediaPacket] = []
        // Until enough was lost; the good one gets each packet before the next.
        while output.statistics.packetsDropped < 200 {
            written += try feed.write(1)
            let count = written.count
            #expect(eventually { output.statistics.receivers.first?.packetsSent == UInt64(count) })
            try #require(count < 5000)
        }
        let stalled = try #require(output.statistics.receivers.last)
        #expect(stalled.state == .stalled && stalled.gaps > 0 && stalled.bytesWaiting <= 300_000)
        slow.resume()
        let last = output.statistics.receivers.last?.packetsWaiting ?? 0
        #expect(last >= 0 && eventually { output.statistics.receivers.last?.packetsWaiting == 0 })
        // It goes on with a key frame. One by one, since the queue is small for the good one too.
        for _ in 0..<30 {
            written += try feed.write(1)
            let count = written.count
            #expect(eventually { output.statistics.receivers.first?.packetsSent == UInt64(count) })
        }
        output.finish()
        let all = written.map { nalUnits($0.bytes) }
        expectSame(good.awaitEnd(), written)
        let received = accessUnits(try #require(slow.awaitEnd()))
        let statistics = output.statistics
        #expect(statistics.packetsSent == UInt64(written.count + received.count))
        #expect(UInt64(received.count) + statistics.packetsDropped == UInt64(written.count))
        // What has come is written groups, or their beginnings. The clip repeats, and its groups do not always end.
        var index = 0
        #expect(received.first?.isKeyFrame == true)
        for group in received.split(before: \.isKeyFrame).map({ $0.map { nalUnits($0.bytes) } }) {
            index = try #require(all.indices.first { $0 >= index && all[$0...].starts(with: group) }) + group.count
        }
    }

    /// A receiver that takes nothing for long is disconnected.
    @Test func aStalledReceiverIsDisconnected() throws {
        let clip = Clip(try h264Clip(frames: 60, size: "640x480", options: "repeat-headers=1:qp=8"))
        let output = try listening { $0.stallTimeout = .milliseconds(300) }
        let feed = try Feed(clip, to: output)
        let stalled = try TestReceiver(port: output.port, isReading: false, bufferSize: 4096)
        #expect(eventually { output.statistics.connections == 1 })
        #expect(
            eventually {
                _ = try? feed.write(10)
                return output.statistics.receivers.isEmpty
            })
        #expect(output.statistics.lastLoss?.contains("0.3 s") == true)
        output.finish()
        stalled.resume()
        #expect(stalled.awaitEnd() != nil)
    }

    /// They come and go a thousand times, in good order and with resets; nothing leaks, and another one gets everything.
    @Test func aThousandReceiversVanish() throws {
        let output = try listening { $0.maximumReceivers = 2000 }
        let feed = try Feed(Clip.standard.get(), to: output)
        let steady = try TestReceiver(port: output.port)
        #expect(feed.awaitRequests(1))
        var packets = try feed.write(1)
        let before = openSockets(port: output.port)
        for round in 0..<1000 {
            let socket = try connectTo(try #require(output.port))
            if round % 3 == 0 { setLinger(socket) }
            packets += try feed.write(1)
            if round % 2 == 0 {
                var byte = [UInt8](repeating: 0, count: 1 + round % 500)
                // Also in the middle of what is sent; there may be nothing.
                _ = recv(socket, &byte, byte.count, Int32(MSG_DONTWAIT))
            }
            close(socket)
        }
        #expect(
            eventually {
                if let written = try? feed.write(1) { packets += written }
                return output.statistics.connections == 1001 && output.statistics.receivers.count == 1
            })
        #expect(eventually { openSockets(port: output.port) <= before })
        output.finish()
        expectSame(steady.awaitEnd(), packets)
        // Those that joined close together have shared key frames.
        #expect(output.statistics.keyFrameRequests < 1000)
    }

    /// A peer that only ends its own sending, as netcat does, still receives.
    @Test func aHalfClosedConnectionGoesOn() throws {
        let output = try listening()
        let feed = try Feed(Clip.standard.get(), to: output)
        let socket = try connectTo(try #require(output.port))
        send(socket, "GET / HTTP/1.0\r\n\r\n", 18, Int32(MSG_NOSIGNAL))
        shutdown(socket, Int32(SHUT_WR))
        let receiver = TestReceiver(accepted: socket)
        #expect(feed.awaitRequests(1))
        try feed.write(30)
        #expect(receiver.await { accessUnits($0).count >= 29 })
        output.finish()
        #expect(receiver.awaitEnd().map(accessUnits)?.count == 30)
    }

    @Test func tooManyReceiversAreTurnedAway() throws {
        let output = try listening { $0.maximumReceivers = 2 }
        let events = Locked<[StreamOutput.Event]>([])
        output.setEventHandler { event in events.withLock { $0.append(event) } }
        let feed = try Feed(Clip.standard.get(), to: output)
        let admitted = try (0..<2).map { _ in try TestReceiver(port: output.port) }
        #expect(eventually { output.statistics.connections == 2 })
        let further = try TestReceiver(port: output.port)
        #expect(further.awaitEnd() == [])
        #expect(output.statistics.receiversRejected == 1)
        try feed.write(10)
        output.finish()
        #expect(admitted.allSatisfy { $0.awaitEnd().map(accessUnits)?.count == 10 })
        let texts = events.withLock { $0.map { "\($0)" } }
        #expect(texts.contains { $0.contains("too many receivers") })
        #expect(texts.count { $0.contains("receives the stream.") } == 2)
        #expect(texts.count { $0.contains("The stream has ended") } == 2)
    }

    /// What waits is sent at the end, but not for long to one that reads nothing.
    @Test func theEndIsBounded() throws {
        let clip = Clip(try h264Clip(frames: 60, size: "640x480", options: "repeat-headers=1:qp=8"))
        let output = try listening { $0.finishTimeout = .milliseconds(100) }
        let feed = try Feed(clip, to: output)
        let stalled = try TestReceiver(port: output.port, isReading: false, bufferSize: 4096)
        #expect(feed.awaitRequests(1))
        #expect(
            eventually {
                _ = try? feed.write(10)
                return output.statistics.receivers.first?.state == .stalled
            })
        output.finish()
        #expect(output.statistics.receivers.isEmpty && output.statistics.packetsDropped > 0)
        try feed.write(1)
        output.finish()
        stalled.resume()
        #expect(stalled.awaitEnd() != nil)
    }

    @Test func theSinksContractIsKept() throws {
        let clip = try Clip.standard.get()
        let suite = PacketSinkSuite(
            tracks: [clip.track],
            refused: [
                TrackDescription(id: 0, codec: .vp8, media: .video(.init(width: 64, height: 48))),
                TrackDescription(id: 0, codec: .opus, media: .audio(.init(sampleRate: 48_000, channelCount: 2))),
            ], makePacket: { clip.packet($1) },
            makeTrial: {
                let output = try StreamOutput("tcp://127.0.0.1:0?listen")
                try output.open()
                let receiver = try TestReceiver(port: output.port)
                let isConnected = eventually { output.statistics.connections == 1 }
                guard isConnected else { throw NoConnection(code: ETIMEDOUT) }
                return PacketSinkSuite.Trial(sink: output) {
                    guard let bytes = receiver.awaitEnd() else { throw NoConnection(code: ETIMEDOUT) }
                    return accessUnits(bytes).count
                }
            })
        let failures = suite.run()
        #expect(failures.isEmpty, "\(failures)")
    }
}

extension Array {
    /// Its parts, each of which but the first begins with an element that is one.
    fileprivate func split(before isFirst: (Element) -> Bool) -> [ArraySlice<Element>] {
        var starts = indices.filter { isFirst(self[$0]) }
        if starts.first != startIndex { starts.insert(startIndex, at: 0) }
        return zip(starts, starts.dropFirst() + [endIndex]).map { self[$0..<$1] }
    }
}
