import JPEGCodec
import MJPEGServer
import Testing
import VideoCapturing

@Suite struct PlaceholderTests {
    @Test func viewersSeeWhyThereIsNoPicture() throws {
        let test = try TestServer()
        try test.show(1)
        let reader = try StreamReader(test.port, "/stream?extra_headers=1")
        #expect(try reader.next().number == 1)
        test.server.sourceStateChanged(to: .interrupted(.noSignal))
        var part = try reader.next()
        while part.number != nil { part = try reader.next() }
        #expect(part.headers["x-ustreamer-online"] == "false")
        #expect(try Client.fetch("/state", port: test.port).text.contains("The device has no signal at its input."))

        // A frame that a queue still held when the source went away does not bring it back.
        test.server.consumeFrame(try jpegFrame(2, at: MonotonicClock().now.advanced(by: .seconds(-5))))
        test.server.sourceStateChanged(to: .running)
        try test.show(3)
        repeat { part = try reader.next() } while part.number == nil
        #expect(part.number == 3)
        #expect(part.headers["x-ustreamer-online"] == "true")
        #expect(test.statistics.notices == 1)
    }

    @Test func aReasonIsThereForEveryStateWithoutPictures() throws {
        let error = CaptureError(.system, operation: "read", subject: "/dev/video0", message: "The cable is broken.")
        let states: [(CaptureState, String)] = [
            (.interrupted(.deviceDisconnected), "unplugged"), (.interrupted(.deviceBusy), "Another program"),
            (.interrupted(.stalled), "restarted"), (.interrupted(.paused), "paused"),
            (.interrupted(.other("The \"lens\" is <dirty>.\n")), #"The \"lens\" is \u003cdirty>.\n"#),
            (.stopped(.user), "stopped"), (.stopped(.endOfStream), "no more"), (.stopped(.error(error)), "cable"),
            (.stopped(.deviceLost(error)), "/dev/video0"), (.starting, "opened"), (.idle, "Waiting"),
        ]
        let test = try TestServer()
        let reader = try StreamReader(test.port)
        _ = try reader.next()
        var count: UInt64 = 1
        for (state, word) in states {
            test.server.sourceStateChanged(to: state)
            count += 1
            #expect(eventually { test.statistics.notices == count })
            #expect(try Client.fetch("/state", port: test.port).text.contains(word), "\(state)")
        }
    }

    @Test func thePlaceholderHasLightLettersOnDark() throws {
        let test = try TestServer { $0.snapshotTimeout = .milliseconds(1) }
        test.server.sourceStateChanged(to: .stopped(.user))
        var answer = try Client.fetch("/snapshot", port: test.port)
        #expect(
            eventually {
                (try? Client.fetch("/snapshot", port: test.port)).map { answer = $0 } != nil && !answer.body.isEmpty
                    && answer.header("content-type") == "image/jpeg"
            })
        #expect(answer.status == 503)
        let picture = try answer.body.withUnsafeBytes { try JPEGDecoder().decode($0) }
        #expect(picture.width == 640 && picture.height == 480)
        var dark = 0
        var light = 0
        for row in 0..<picture.height {
            picture.withRow(row, ofPlane: 0) { row in
                for value in row {
                    if value < 60 { dark += 1 }
                    if value > 150 { light += 1 }
                }
            }
        }
        #expect(dark > 640 * 480 / 2)
        #expect(light > 1000)
    }

    @Test func aSnapshotWaitsForTheFirstFrame() throws {
        let test = try TestServer { $0.snapshotTimeout = .seconds(30) }
        let client = try Client(test.port)
        client.get("/snapshot")
        // The placeholder shows that the request has arrived.
        #expect(eventually { test.statistics.notices == 1 })
        try test.show(4)
        #expect(try client.readAnswer().body == numberedJPEG(4))
    }

    @Test func aSnapshotGivesUp() throws {
        let test = try TestServer { $0.snapshotTimeout = .milliseconds(50) }
        // The viewer gets the placeholder, so it has been made.
        _ = try StreamReader(test.port).next()
        let answer = try Client.fetch("/snapshot", port: test.port)
        #expect(answer.status == 503)
        #expect(answer.header("content-type") == "image/jpeg")
        #expect(answer.header("x-ustreamer-online") == "false")
    }
}
