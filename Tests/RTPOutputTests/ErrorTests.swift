import MediaPublishing
import TestTools
import Testing
import VideoCapturing

@testable import RTPOutput

#if canImport(Glibc)
    import Glibc
#endif

/// What cannot be, and receivers that are not there.
@Suite(.serialized) struct ErrorTests {
    @Test(arguments: [
        ("rtp://", "port"), ("rtp://host", "port"), ("rtp://host:99999", "65535"), ("rtp://:5004", "host"),
        ("rtp://host:0", "1 to 65532"), ("rtp://a:b@host:1", "host and port"), ("rtp://::1:5004", "brackets"),
        ("rtp://host:1?codek=vp8", "Did you mean codec?"), ("rtp://host:1?codec=vp9", "vp8 or h264"),
        ("rtp://host:1?pt=70", "96 to 127"), ("rtp://host:1?pt=x", "is a number"),
        ("rtp://host:1?pt=111", "two numbers"),
        ("rtp://host:1?mtu=10", "200 to 9000"), ("rtp://host:1?ttl=0", "1 to 255"),
        ("rtp://host:1?rtcp=70000", "not a port"),
        ("rtp://host:1?sdp=", "needs a value"), ("rtp://host:1?sdp", "needs a value"),
    ])
    func refusesWhatIsNoAddress(target: String, reason: String) throws {
        let error = #expect(throws: OptionError.self) { try OutputCatalog([.rtp]).makeOutput(target) }
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    }

    @Test func optionsAreTaken() throws {
        let output = try RTPOutput(
            "RTP://[::1]:5004?rtcp=5004&codec=h264&pt=97&audio=6000&audio-pt=98&mtu=1400&ttl=9&from=::1&local=7000&sdp=a.sdp"
        )
        let configuration = output.configuration
        #expect(configuration.codec == .h264 && configuration.payloadType == 97 && configuration.reportPort == 5004)
        #expect(configuration.audioPort == 6000 && configuration.audioPayloadType == 98)
        #expect(configuration.maximumPacketSize == 1400 && configuration.timeToLive == 9)
        #expect(configuration.localAddress == "::1" && configuration.localPort == 7000)
        #expect(configuration.descriptionFile == "a.sdp" && output.name == "rtp://[::1]:5004")
        guard case .packets(let feed) = output.feed else { throw NoConnection(code: 0) }
        #expect(feed.codecs == [.h264] && feed.purpose == .live)
    }

    @Test func aHostThatIsUnknown() throws {
        let output = try RTPOutput("rtp://no-such-host.invalid:5004")
        let error = #expect(throws: CaptureError.self) { try output.open() }
        #expect(error?.subject == "no-such-host.invalid:5004", "\(error.map { "\($0)" } ?? "")")
        #expect(error?.code == .deviceNotFound)
    }

    @Test func localAddresses() throws {
        let peer = try TestPeer()
        let foreign = try RTPOutput(peer.url("from=192.0.2.1"))
        let error = #expect(throws: CaptureError.self) { try foreign.open() }
        #expect(error?.code == .deviceNotFound && error?.message.contains("192.0.2.1 is not an address") == true)
        let mixed = try RTPOutput(peer.url("from=::1"))
        #expect(#expect(throws: CaptureError.self) { try mixed.open() }?.code == .invalidConfiguration)
        // The peer has its port already.
        let taken = try RTPOutput(peer.url("from=127.0.0.1&local=\(peer.port)"))
        let busy = #expect(throws: CaptureError.self) { try taken.open() }
        #expect(
            busy?.code == .deviceBusy && busy?.message.contains("\(peer.port)") == true, "\(busy.map { "\($0)" } ?? "")"
        )
        // It can be tried again, and opened once.
        let output = try RTPOutput(peer.url())
        try output.open()
        #expect(#expect(throws: CaptureError.self) { try output.open() }?.code == .invalidState)
        output.finish()
    }

    @Test func aReceiverComesLate() throws {
        let port = try { try TestPeer().port }()
        let output = try RTPOutput("rtp://127.0.0.1:\(port)?rtcp=\(port)")
        try output.begin([Sample.track])
        // The thread of the peer that had the port ends a little later.
        #expect(
            eventually {
                try? output.write(Sample.packet(0, size: 100))
                return output.outputStatistics.status == "nothing listens"
            })
        let peer = try TestPeer(port: port)
        #expect(
            eventually {
                try? output.write(Sample.packet(1, size: 100))
                return peer.packets.count > 3 && output.outputStatistics.status == nil
            })
        // Where both share a port, reports arrive there, too, and answers come back.
        #expect(eventually { peer.packets.contains { $0[1] == 200 } })
        output.finish()
        #expect(
            peer.packets.last.map { $0.suffix(8).prefix(2) == [0x81, 203] } == true
                || eventually {
                    peer.packets.last.map { $0.suffix(8).prefix(2) == [0x81, 203] } == true
                })
    }

    @Test func packetsThatNoNetworkTakes() throws {
        let peer = try TestPeer()
        let output = try RTPOutput(peer.url())
        try output.begin([Sample.track])
        let stranger = Sample.packet(0, track: 5)
        #expect(#expect(throws: CaptureError.self) { try output.write(stranger) }?.code == .formatUnsupported)
        output.finish()
    }

    @Test func manyOutputsLeaveNothingBehind() throws {
        let peer = try TestPeer()
        func openDescriptors() -> Int {
            var count = 0
            for descriptor in 0..<4096 where fcntl(Int32(descriptor), F_GETFD) >= 0 { count += 1 }
            return count
        }
        func use() throws {
            let output = try RTPOutput(peer.url())
            try output.begin([Sample.track])
            try output.write(Sample.packet(0))
            output.finish()
        }
        try use()
        let before = openDescriptors()
        for _ in 0..<50 { try use() }
        #expect(openDescriptors() <= before)
    }
}
