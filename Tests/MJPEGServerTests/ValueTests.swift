import FrameProcessing
import NIOCore
import Testing
import VideoCapturing

@testable import MJPEGServer

@Suite struct ValueTests {
    @Test(arguments: [
        (0, "0.000000"), (1_234_567_890, "1.234567"), (-1_500_000_000, "-1.500000"), (999, "0.000000"),
        (Int64.max, "9223372036.854775"), (Int64.min, "-9223372036.854775"),
    ])
    func secondsHaveSixDecimals(_ nanoseconds: Int64, _ text: String) {
        var buffer = ByteBuffer()
        buffer.writeSeconds(nanoseconds: nanoseconds)
        #expect(String(buffer: buffer) == text)
    }

    @Test(arguments: [0, 7, 10, 99, 100, 12345, Int.max, -5, Int.min]) func numbersAreDecimal(_ value: Int) {
        var buffer = ByteBuffer()
        buffer.writeDecimal(value)
        #expect(String(buffer: buffer) == "\(value)")
    }

    @Test func momentsHaveDates() {
        var wallClock = WallClock()
        let now = MonotonicClock().now
        let before = WallClock.now
        let moment = now.advanced(by: .seconds(-5))
        let date = wallClock.date(of: moment, now: now)
        #expect((before - 5_000_000_000...WallClock.now - 5_000_000_000).contains(date))
        // Until a second later dates are as far from each other as the moments are, to the nanosecond.
        let next = now.advanced(by: .milliseconds(999))
        #expect(wallClock.date(of: next, now: next) == date + 5_999_000_000)
        // Then the date is asked for, even if the clock has been set back.
        let later = now.advanced(by: .seconds(60))
        #expect((wallClock.date(of: later, now: later) - WallClock.now).magnitude < 1_000_000_000)
        #expect((wallClock.date(of: now, now: now) - WallClock.now).magnitude < 1_000_000_000)
        // What cannot be is now.
        let absurd = wallClock.date(of: MediaTime(nanoseconds: .max), now: now)
        #expect((absurd - WallClock.now).magnitude < 1_000_000_000)
    }

    @Test func queriesAreRead() {
        let query = Query(
            "key=a%20b+c&extra_headers=1&zero_data&x=&x=2&bad=%zz%4&dual_final_frames=YES&advance_headers=no")
        #expect(query["key"] == "a b c")
        #expect(query["x"] == "")
        #expect(query["bad"] == "%zz%4")
        #expect(query["none"] == nil)
        let parameters = StreamParameters(query)
        #expect(parameters.key == "a%20b%20c")
        #expect(parameters.extraHeaders && parameters.dualFinalFrames)
        #expect(!parameters.zeroData && !parameters.advanceHeaders)
        // Neither a header nor a JSON text can be broken out of.
        #expect(StreamParameters(Query("key=%0d%0aX:%22%5c")).key == "%0D%0AX%3A%22%5C")
        #expect(StreamParameters(Query("key=" + String(repeating: "a", count: 5000))).key?.utf8.count == 128)
    }

    @Test func ratesAreOfTheLastTwoSeconds() {
        var meter = RateMeter()
        func time(_ milliseconds: Int64) -> MediaTime {
            MediaTime(nanoseconds: 5_000_000_000 + milliseconds * 1_000_000)
        }
        #expect(meter.perSecond(at: time(0)) == 0)
        for index in 0..<100 { meter.add(1, at: time(Int64(index) * 40)) }
        #expect(abs(meter.perSecond(at: time(4000)) - 25) < 1)
        #expect(abs(meter.perSecond(at: time(5000)) - 12.5) < 1)
        #expect(meter.perSecond(at: time(60_000)) == 0)
        meter.add(1, at: time(60_000))
        #expect(meter.perSecond(at: time(60_250)) == 0.5)
        // A clock that stands still or goes back does no harm.
        meter.add(1, at: time(0))
        #expect(meter.perSecond(at: time(0)) >= 0)
    }

    @Test func recentLatenciesForgetOldOnes() {
        var latency = RecentLatency()
        func time(_ seconds: Int64) -> MediaTime { MediaTime(nanoseconds: seconds * 1_000_000_000) }
        latency.record(nanoseconds: 50_000_000, at: time(100))
        latency.record(nanoseconds: 1_000_000, at: time(103))
        #expect(latency.recent(at: time(103)).count == 2)
        latency.record(nanoseconds: 1_000_000, at: time(106))
        #expect(latency.recent(at: time(106)).count == 2)
        #expect(latency.recent(at: time(120)).count == 0)
        #expect(latency.total.count == 3)
        #expect(latency.sum == 52_000_000)
    }

    @Test func placeholdersOfAnySizeAreDrawn() throws {
        let long = Placeholder(
            title: "A very long title of a placeholder",
            reason: String(repeating: "word ", count: 300) + String(repeating: "x", count: 500) + "ü\u{0}")
        for (width, height) in [(1, 1), (160, 120), (641, 479), (5000, 5000), (1920, 120), (160, 1920)] {
            for placeholder in [Placeholder.waiting, long, Placeholder(title: "", reason: "")] {
                let frame = try placeholder.frame(width: width, height: height, timestamp: .zero)
                #expect((160...1920).contains(frame.width) && (120...1920).contains(frame.height))
            }
        }
    }

    @Test func linesAreBrokenBetweenWords() {
        let lines = PlaceholderLayout.lines(of: "one two  three\nfour ünf", scale: 1, in: 60)
        #expect(lines.map { String(decoding: $0, as: UTF8.self) } == ["one two", "three four", "?nf"])
        #expect(
            PlaceholderLayout.lines(of: String(repeating: "a", count: 25), scale: 1, in: 60).map(\.count) == [
                10, 10, 5,
            ])
        #expect(PlaceholderLayout.lines(of: "", scale: 1, in: 60).isEmpty)
    }

    @Test func everyLetterLooksDifferent() {
        let letters = (UInt8(0x20)..<0x7F).map { letter in
            (0..<BitmapFont.height).map { BitmapFont.row($0, of: letter) }
        }
        #expect(Set(letters).count == 95)
        #expect(BitmapFont.row(0, of: 200) == BitmapFont.row(0, of: UInt8(ascii: "?")))
    }
}
