import CapturerTestKit
import TestTools
import Testing
import VideoCapturing

@testable import StillCapture

@Suite struct EXIFTests {
    private let folder = TemporaryFolder()

    /// 2026-11-23 15:30:45.067 UTC.
    private let date = Duration.milliseconds(1_795_447_845_067)

    private func exif(
        offset: Int = 0, orientation: VideoOrientation = .up, model: String? = nil
    ) -> EXIF {
        EXIF(
            make: "Acme", model: model, software: "tests 1.0", orientation: orientation,
            size: PixelSize(width: 1920, height: 1080), date: date, utcOffset: offset)
    }

    /// Tags by exiftool's names, of a JPEG or PNG file.
    private func tags(_ bytes: [UInt8], _ name: String) throws -> [String: String] {
        let path = try folder.write(bytes, to: name)
        var tags: [String: String] = [:]
        for line in try run("exiftool", "-s", "-n", "-G1", "-api", "Validate", "-validate", "-warning", "-all", path)
            .split(separator: "\n")
        {
            let parts = line.split(separator: ":", maxSplits: 1)
            let key = parts[0].split(separator: "]").last.map(String.init) ?? ""
            tags[key.filter { $0 != " " }] = parts.count > 1 ? String(parts[1].dropFirst()) : ""
        }
        return tags
    }

    private func still(_ settings: Still.Settings, _ configuration: StillCapture.Configuration = .init()) async throws
        -> Still
    {
        let rig = Rig(configuration)
        try rig.feed(width: 64, height: 48)
        return try await rig.stills.capture(settings)
    }

    /// Every entry where TIFF 6.0 has it.
    @Test func theLayoutIsRight() throws {
        let bytes = exif().bytes
        #expect(Array(bytes[..<10]) == Array("MM".utf8) + [0, 42, 0, 0, 0, 8, 0, 9])
        func word(_ offset: Int) -> Int { Int(bytes[offset]) << 8 | Int(bytes[offset + 1]) }
        func long(_ offset: Int) -> Int { word(offset) << 16 | word(offset + 2) }
        var directories = [8]
        var seen: [[Int]] = []
        while let directory = directories.popLast() {
            let tags = (0..<word(directory)).map { word(directory + 2 + 12 * $0) }
            #expect(tags == tags.sorted() && Set(tags).count == tags.count)
            seen.append(tags)
            for index in 0..<tags.count {
                let entry = directory + 2 + 12 * index
                let size = [1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 7: 1][word(entry + 2)]! * long(entry + 4)
                if size > 4 { #expect(long(entry + 8) + size <= bytes.count && long(entry + 8) % 2 == 0) }
                if tags[index] == 0x8769 { directories.append(long(entry + 8)) }
            }
            #expect(long(directory + 2 + 12 * tags.count) == 0)
        }
        #expect(seen.count == 2 && seen[0].contains(0x0112) && seen[1].contains(0x9003))
    }

    @Test func exiftoolReadsAJPEG() async throws {
        let settings = StillCapture.Configuration(
            cameraMake: "Acme", cameraModel: "Kamera Zürich", software: "tests 1.0")
        let still = try await still(Still.Settings(), settings)
        let tags = try tags(still.bytes, "a.jpg")
        #expect(tags["Validate"] == "0 0 0" && tags["Warning"] == nil)
        #expect(tags["Make"] == "Acme" && tags["Model"] == "Kamera Z?rich" && tags["Software"] == "tests 1.0")
        #expect(tags["Orientation"] == "1" && tags["ExifImageWidth"] == "64" && tags["ExifImageHeight"] == "48")
        // By the machine's time zone.
        let expected = EXIF(
            orientation: .up, size: still.size, date: still.date, utcOffset: EXIF.localOffset(at: still.date))
        #expect(tags["DateTimeOriginal"] == expected.dateTexts.date)
        #expect(Int(tags["SubSecTimeOriginal"] ?? "") == Int(expected.dateTexts.fraction))
        #expect(tags["OffsetTimeOriginal"] == expected.dateTexts.zone)
    }

    @Test func exiftoolReadsAPNG() async throws {
        let tags = try tags(try await still(Still.Settings(format: .png)).bytes, "a.png")
        #expect(tags["Software"] == "swift-video-capturing" && tags["ExifImageWidth"] == "64")
        #expect(tags["DateTimeOriginal"]?.count == 19 && tags["Make"] == nil)
    }

    @Test func thereIsNoneWhereItIsNotAskedFor() async throws {
        for format in [Still.Settings.Format.jpeg, .png] {
            let tags = try tags(try await still(Still.Settings(format: format, writesEXIF: false)).bytes, "a.\(format)")
            #expect(tags["DateTimeOriginal"] == nil && tags["Software"] == nil)
        }
    }

    /// The camera is the publisher's source.
    @Test func theModelIsTheSource() async throws {
        let capture = PushCapturer(format: .nv12(width: 16, height: 8), name: "HD Webcam")
        let publisher = VideoPublisher(capture)
        let stills = StillCapture()
        try stills.attach(to: publisher)
        try publisher.start()
        capture.push(try flatPicture(1))
        #expect(try tags(try await stills.capture().bytes, "a.jpg")["Model"] == "HD Webcam")
        publisher.close()
    }

    @Test(arguments: [
        (0, "2026:11:23 15:30:45", "+00:00"), (3600, "2026:11:23 16:30:45", "+01:00"),
        (-12600, "2026:11:23 12:00:45", "-03:30"), (20700, "2026:11:23 21:15:45", "+05:45"),
        (50400, "2026:11:24 05:30:45", "+14:00"),
    ])
    func timesAreLocal(offset: Int, date: String, zone: String) {
        let texts = exif(offset: offset).dateTexts
        #expect(texts.date == date && texts.zone == zone && texts.fraction == "067")
    }

    @Test func theDateIsThatOfTheFrame() async throws {
        let before = wallClockTime()
        let stills = StillCapture()
        let taken = MonotonicClock().now.advanced(by: .seconds(-5))
        stills.consumeFrame(VideoFrame(buffer: try flatPicture(1), timestamp: taken))
        let still = try await stills.capture(Still.Settings(timeout: .seconds(60)))
        #expect(still.date >= before - .milliseconds(5500) && still.date <= wallClockTime() - .milliseconds(4900))
        #expect(still.offset <= .seconds(-5) && still.latency >= .zero)
    }

    @Test(arguments: [(VideoOrientation.up, UInt16(1)), (.down, 3), (.left, 6), (.right, 8)])
    func orientationCodes(orientation: VideoOrientation, code: UInt16) {
        #expect(orientation.exifCode == code)
    }
}
