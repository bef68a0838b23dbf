import MJPEGServer
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

@Suite struct StreamTests {
    @Test func theStreamIsAsUStreamersIs() throws {
        let test = try TestServer { $0.instanceID = "front" }
        let before = Double(time(nil))
        try test.show(1)
        let reader = try StreamReader(test.port, "/stream?key=a%20b")
        #expect(reader.head.header("content-type") == "multipart/x-mixed-replace;boundary=boundarydonotcross")
        #expect(reader.head.header("connection") == "close")
        #expect(reader.head.header("pragma") == "no-cache")
        #expect(reader.head.header("expires") == "Mon, 3 Jan 2000 12:34:56 GMT")
        #expect(reader.head.header("cache-control")?.hasPrefix("no-store, no-cache") == true)
        let cookie = try #require(reader.head.header("set-cookie"))
        let id = try #require(test.statistics.viewers.first?.id)
        #expect(cookie == "stream_client_front=a%20b/\(String(id, radix: 16)); path=/; max-age=30")

        let first = try reader.next()
        #expect(first.number == 1)
        #expect(first.jpeg == numberedJPEG(1))
        #expect(Set(first.headers.keys) == ["content-type", "content-length", "x-timestamp"])
        #expect(first.headers["content-type"] == "image/jpeg")
        let stamp = try #require(first.headers["x-timestamp"])
        #expect(stamp.split(separator: ".").last?.utf8.count == 6)
        // The date of the capture, not of the sending. `time` lags behind by up to a tick, and so by a second.
        let date = try #require(Double(stamp))
        #expect(date >= before - 1 && date <= Double(time(nil)) + 2)

        try test.show(2)
        #expect(try reader.next(from: 2).number == 2)
    }

    @Test(arguments: ["/stream", "/?action=stream"]) func bothAddressesStream(_ target: String) throws {
        let test = try TestServer()
        try test.show(1)
        #expect(try StreamReader(test.port, target).next().number == 1)
    }

    @Test func extraHeadersTellTimesAndSizes() throws {
        let test = try TestServer()
        try test.show(1, padding: 100)
        let part = try StreamReader(test.port, "/stream?extra_headers=1").next()
        #expect(part.jpeg == numberedJPEG(1, padding: 100))
        #expect(part.headers["x-ustreamer-online"] == "true")
        #expect(part.headers["x-ustreamer-width"] == "19")
        #expect(part.headers["x-ustreamer-height"] == "9")
        #expect(part.headers["x-ustreamer-dropped"] == "0")
        for name in [
            "client-fps", "grab-begin-time", "grab-end-time", "encode-begin-time", "encode-end-time",
            "expose-begin-time", "expose-cmp-time", "expose-end-time", "send-time", "latency",
        ] {
            #expect(part.headers["x-ustreamer-\(name)"].flatMap { Double($0) } != nil, "\(name)")
        }
    }

    @Test func advanceHeadersComeBeforeTheirPicture() throws {
        let test = try TestServer()
        let jpeg = numberedJPEG(7)
        let reader = try StreamReader(test.port, "/stream?advance_headers=yes")
        let head = try reader.client.read(through: "\r\n\r\n")
        #expect(head.hasPrefix("Content-Type: image/jpeg\r\nX-Timestamp: "))
        #expect(!head.contains("Content-Length"))
        // The placeholder before the first frame, and the head of the next part.
        _ = try reader.client.read(through: "\r\n--boundarydonotcross\r\n")
        _ = try reader.client.read(through: "\r\n\r\n")
        try test.show(7)
        #expect(try reader.client.read(jpeg.count) == jpeg)
        #expect(
            try reader.client.read(through: "\r\n\r\n").hasPrefix(
                "\r\n--boundarydonotcross\r\nContent-Type: image/jpeg\r\n"))
    }

    @Test func zeroDataLeavesThePicturesOut() throws {
        let test = try TestServer()
        try test.show(1)
        let reader = try StreamReader(test.port, "/stream?zero_data=true&extra_headers=true")
        let part = try reader.next()
        #expect(part.headers["content-length"] == "0")
        #expect(part.headers["x-ustreamer-width"] == "19")
        try test.show(2)
        #expect(try reader.next().jpeg.isEmpty)
    }

    @Test func silenceIsBrokenByTheLastFrame() throws {
        let test = try TestServer { $0.repeatInterval = .milliseconds(100) }
        try test.show(1)
        let reader = try StreamReader(test.port)
        let first = try reader.next()
        for _ in 0..<3 {
            let part = try reader.next()
            #expect(part.jpeg == first.jpeg)
            // It is still of when it was taken.
            #expect(part.headers["x-timestamp"] == first.headers["x-timestamp"])
        }
        #expect(test.statistics.framesPassedThrough == 1)
    }

    @Test func framesThatShowTheSameAreDropped() throws {
        let test = try TestServer { configuration in
            configuration.dropSameFrames = 3
            configuration.repeatInterval = nil
        }
        try test.show(1)
        let reader = try StreamReader(test.port)
        #expect(try reader.next().number == 1)
        // The same bytes: three are left out, the fourth is sent.
        for _ in 0..<4 { try test.show(1) }
        #expect(try reader.next().number == 1)
        #expect(test.statistics.framesUnchanged == 3)
        var repeated = try jpegFrame(5)
        repeated.damage = []
        test.server.consumeFrame(repeated)
        #expect(test.statistics.framesUnchanged == 4)
        try test.show(6)
        #expect(try reader.next().number == 6)
    }

    @Test func dualFinalFramesGetTheLastFrameTwice() throws {
        let test = try TestServer { configuration in
            configuration.dropSameFrames = 100
            configuration.repeatInterval = nil
        }
        try test.show(1)
        let dual = try StreamReader(test.port, "/stream?dual_final_frames=1")
        let plain = try StreamReader(test.port)
        #expect(try dual.next().number == 1)
        #expect(try plain.next().number == 1)
        try test.show(2)
        #expect(try dual.next(from: 2).number == 2)
        for _ in 0..<3 { try test.show(2) }
        #expect(try dual.next().number == 2)
        // Waited for, since frames that come while one is on its way replace it.
        #expect(try plain.next(from: 2).number == 2)
        try test.show(3)
        #expect(try dual.next().number == 3)
        #expect(try plain.next().number == 3)
    }

    @Test func aHundredViewersGetEqualFrames() throws {
        let test = try TestServer()
        let readers = try (0..<100).map { _ in try StreamReader(test.port) }
        #expect(test.hasViewers(100))
        try test.show(1, padding: 2000)
        let expected = numberedJPEG(1, padding: 2000)
        for reader in readers { #expect(try reader.next(from: 1).jpeg == expected) }
        #expect(test.statistics.framesPassedThrough == 1)
        #expect(eventually { test.statistics.viewers.allSatisfy { $0.framesSent >= 2 } })
        #expect(test.statistics.p50Latency != nil)
    }

    @Test func aSlowViewerGetsTheNewestAndDelaysNobody() throws {
        let test = try TestServer { $0.sendBufferSize = 8192 }
        let padding = 100_000
        let slow = try StreamReader(test.port, receiveBuffer: 4096)
        let fast = try StreamReader(test.port)
        #expect(test.hasViewers(2))
        // One by one, as fast as the fast viewer takes them; the slow one takes none.
        for number in 1...40 {
            try test.show(number, padding: padding)
            #expect(try fast.next(from: number).number == number)
        }
        let skipped = test.statistics.viewers.map(\.framesSkipped).max() ?? 0
        #expect(skipped >= 30)
        // A frame may come before the server has learned that the one before is gone.
        #expect(test.statistics.viewers.map(\.framesSkipped).min() ?? 40 <= 4)
        // The picture that filled the buffers, and then the newest.
        let first = try slow.next(from: 1)
        let second = try slow.next(from: first.number! + 1)
        #expect(second.number == 40)
    }

    @Test func aViewerWhoAcceptsNothingIsClosed() throws {
        let test = try TestServer { configuration in
            configuration.sendBufferSize = 4096
            configuration.limits.sendTimeout = .milliseconds(200)
        }
        let reader = try StreamReader(test.port, receiveBuffer: 4096)
        #expect(test.hasViewers(1))
        var number = 0
        #expect(
            try eventually {
                number += 1
                try test.show(number, padding: 2_000_000)
                return test.statistics.viewers.isEmpty
            })
        withExtendedLifetime(reader) {}
    }
}
