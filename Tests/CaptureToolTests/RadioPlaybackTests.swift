import RadioPlayer
import Testing
import VideoCapturing

@testable import CaptureTool

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite struct RadioPlaybackTests {
    @Test(arguments: [
        ("http://host/a.mp3", true), ("https://host:8000/A.MP3?x=1", true), ("http://host/list.pls", true),
        ("http://host/list.m3u", true), ("rtsp://host/a.mp3", false), ("a.mp3", false), ("tcp://host:1", false),
    ])
    func `Radios are told by their address`(input: String, isRadio: Bool) {
        #expect(RadioPlayback.isRadio(input, OptionValues()) == isRadio)
    }

    @Test func `An address with the option for sound is a radio`() {
        #expect(RadioPlayback.isRadio("http://host/stream", OptionValues(["sound": ["null"]])))
    }

    @Test func `Keys are letters and arrows`() {
        var keys = KeySequence()
        let bytes =
            Array(" q+-p".utf8) + [
                0x1B, 0x5B, 0x41, 0x1B, 0x5B, 0x42, 0x1B, 0x4F, 0x43, 0x1B, 0x5B, 0x44, 0x1B, 0x78, 0x3F,
            ]
        #expect(
            bytes.compactMap { keys.take($0) } == [
                .pause, .quit, .louder, .quieter, .pause, .louder, .quieter, .forward, .backward,
                .help,
            ])
    }

    @Test(arguments: [
        (ENOENT, CaptureTool.ExitStatus.noInput), (EACCES, .noPermission), (EBUSY, .busy), (ENOSPC, .inputOutput),
        (EIO, .inputOutput),
    ])
    func `A place for the sound that cannot be opened is no missing library`(
        errno: Int32, status: CaptureTool.ExitStatus
    ) {
        let error = RadioError(.rendererCreationFailed, operation: "open a WAV file", errno: errno, message: "")
        #expect(ExitError(playing: error, hasPlayed: false).status == status)
        let decoder = RadioError(.decoderFailed, operation: "decode", message: "")
        #expect(ExitError(playing: decoder, hasPlayed: false).status == .unavailable)
    }

    @Test(arguments: [
        (RadioErrorCode.networkConnectionFailed, CaptureTool.ExitStatus.noInput), (.streamNotFound, .noInput),
        (.streamUnsupported, .noInput), (.networkStalled, .inputOutput), (.permissionDenied, .noPermission),
    ])
    func `A radio that does not begin is a missing input, as in a capture`(
        code: RadioErrorCode, status: CaptureTool.ExitStatus
    ) {
        let error = RadioError(code, operation: "receive the radio", message: "")
        #expect(ExitError(playing: error, hasPlayed: false).status == status)
        // What ends it later is a failure to read.
        #expect(ExitError(playing: error, hasPlayed: true).status == (status == .noPermission ? status : .inputOutput))
    }

    @Test func `What was played is rounded to seconds`() {
        var status = RadioPlayer.Status()
        status.progress = .milliseconds(59_980)
        #expect(RadioStatusText.summary(status) == "Played 01:00, 0 connections, 0 underruns.")
        #expect(RadioStatusText.line(status, volume: 1, columns: 100).hasPrefix("00:59 "))
    }

    @Test func `The status fits into the columns, whatever the title is`() {
        var status = RadioPlayer.Status()
        status.state = .playing
        status.progress = .seconds(83)
        status.buffered = .milliseconds(4120)
        status.bitrate = 128_000
        status.peaks = [0.25, 0.5]
        status.title = "Artist\u{1B}[31m - Title " + String(repeating: "x", count: 500)
        let line = RadioStatusText.line(status, volume: 1, columns: 100)
        #expect(line.hasPrefix("01:23 playing ▮▮▮▮▮▮▮▮▮▯ -6 dB buf 4.1 s 128 kb/s Artist?[31m - Title"))
        #expect(line.unicodeScalars.count <= 101)
        #expect(RadioStatusText.meter(0) == "▯▯▯▯▯▯▯▯▯▯" && RadioStatusText.meter(1) == "▮▮▮▮▮▮▮▮▮▮")
        let narrow = RadioStatusText.line(status, volume: 0.8, columns: 44)
        #expect(narrow == "01:23 playing ▮▮▮▮▯ buf 4.1 s vol 80 % Artis")
        // Ideographs take two columns.
        status.title = String(repeating: "字", count: 100)
        #expect(RadioStatusText.line(status, volume: 1, columns: 39) == "01:23 playing ▮▮▮▮▯ buf 4.1 s 字字字字")
    }

    @Test func `The statistics have the names of those of a capture`() {
        var status = RadioPlayer.Status()
        status.state = .playing
        status.progress = .milliseconds(1500)
        status.duration = .seconds(6)
        status.peaks = [0.25, 1]
        status.buffered = .milliseconds(2500)
        status.bitrate = 128_000
        let line = RadioStatusText.json("status", status, url: "http://host/a.mp3", elapsed: .seconds(2))
        #expect(line.hasPrefix(#"{"version":2,"event":"status","elapsedSeconds":2.000000,"source":"radio","url":""#))
        #expect(line.contains(#""progress":{"positionSeconds":1.500000,"durationSeconds":6.000000,"percent":25.0"#))
        #expect(line.contains(#""audio":{"source":"radio","peakDecibels":0.000000},"bitsPerSecondMeasured":128000.0"#))
        #expect(line.contains(#""levelMilliseconds":2500.000000"#))
        #expect(!line.contains("_"))
        // Nothing is known yet.
        let empty = RadioStatusText.json("start", RadioPlayer.Status(), url: "", elapsed: .zero)
        #expect(empty.contains(#""peakDecibels":null},"bitsPerSecondMeasured":null"#))
        #expect(empty.contains(#""durationSeconds":null,"percent":null,"secondsLeft":null"#))
    }
}
