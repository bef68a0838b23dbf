import FrameProcessing
import StillCapture
import TestTools
import Testing
import VideoCapturing

@Suite struct OneCallTests {
    private func frame() throws -> VideoFrame {
        VideoFrame(
            buffer: try PixelBuffer.black(.nv12, width: 33, height: 17, color: .bt601), timestamp: MonotonicClock().now)
    }

    @Test(arguments: Still.Settings.Format.allCases)
    func inMemory(format: Still.Settings.Format) throws {
        let bytes = try frame().encoded(.init(format: format))
        bytes.withUnsafeBytes { data in
            switch format {
            case .jpeg: #expect(data.prefix(3).elementsEqual([0xFF, 0xD8, 0xFF]))
            case .png: #expect(data.prefix(4).elementsEqual([0x89, 0x50, 0x4E, 0x47]))
            case .nv12: #expect(data.count == 33 * 17 + 34 * 9)
            }
        }
    }

    @Test func asAFile() throws {
        let folder = TemporaryFolder()
        for name in ["a.jpg", "b.JPEG", "c.png"] {
            try frame().write(to: folder.file(name))
            #expect(throws: StillCaptureError.self) { try frame().write(to: folder.file(name)) }
            try frame().write(to: folder.file(name), overwrites: true)
        }
        let error = #expect(throws: StillCaptureError.self) { try frame().write(to: folder.file("a.gif")) }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test func aQualityOutOfRange() throws {
        let error = #expect(throws: StillCaptureError.self) { try frame().encoded(.init(quality: 0)) }
        #expect(error?.code == .invalidConfiguration)
    }
}
