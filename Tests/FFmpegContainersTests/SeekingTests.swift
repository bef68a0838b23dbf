import FFmpegContainers
import MediaContainers
import Testing
import VideoCapturing

/// After a seek the next picture is the one shown at that time, exactly.
@Suite struct SeekingTests {
    @Test(
        arguments: [
            ("a.mp4", "-c:v libx264 -pix_fmt yuv420p -g 12 -bf 2"),
            ("a.mkv", "-c:v libx264 -pix_fmt yuv420p -g 12 -bf 3"),
            ("open.mp4", "-c:v libx264 -pix_fmt yuv420p -x264-params open-gop=1:keyint=12:bframes=3"),
            ("a.webm", "-c:v libvpx -g 10"), ("a.avi", "-c:v mpeg4 -g 10"), ("a.gif", ""),
            ("a.ts", "-c:v libx264 -pix_fmt yuv420p -g 12"),
            ("a.h264", "-c:v libx264 -pix_fmt yuv420p -bf 0 -g 12"),
        ])
    func findsThePictureShown(_ name: String, _ options: String) throws {
        let folder = try MediaFolder()
        let path = try folder.make(name, frames: 40, options)
        let reader = try openReader(path)
        #expect(reader.canSeek)
        let all = try readAll(reader)
        #expect(all.count == 40)
        for index in [0, 1, 11, 12, 13, 25, 39, 7] {
            // Exactly at the time of the picture, and just before the next.
            for offset in [Duration.zero, .milliseconds(9)] {
                try reader.seek(to: all[index].timestamp + offset)
                for wanted in all[index...].prefix(3) {
                    let next = try #require(try reader.nextFrame(), "picture \(index) + \(offset)")
                    #expect(next.timestamp == wanted.timestamp)
                    expectEqual(samples(of: next.buffer), samples(of: wanted.buffer))
                }
            }
        }
        try reader.seek(to: .seconds(1000))
        #expect(try reader.nextFrame() == nil)
        try reader.seek(to: .zero)
        #expect(try readAll(reader).count == 40)
        #expect(reader.damagedPackets == 0)
    }

    @Test func aPipeCannotSeek() throws {
        let folder = try MediaFolder()
        let path = try folder.make("a.webm", "-c:v libvpx")
        let reader = try openPipe(path)
        #expect(!reader.canSeek && !reader.canRewind)
        #expect(mediaFileError { try reader.seek(to: .zero) }?.code == .formatUnsupported)
        #expect(mediaFileError { try reader.rewind() }?.code == .formatUnsupported)
        #expect(try readAll(reader).count == 12)
    }

    @Test func tellsHowLongItIs() throws {
        let folder = try MediaFolder()
        let reader = try openReader(
            try folder.make("a.mp4", frames: 30, rate: "30000/1001", "-c:v libx264 -pix_fmt yuv420p"))
        #expect(reader.format.estimatedFramesPerSecond == FrameRate(30000, per: 1001))
        #expect(reader.estimatedFrameCount == 30)
        #expect(abs((reader.duration ?? .zero).seconds - 1.001) < 0.001)
        let webm = try openReader(try folder.make("a.webm", frames: 30, "-c:v libvpx"))
        #expect(webm.estimatedFrameCount == 30)
        #expect(webm.duration == .milliseconds(1200))
    }
}
