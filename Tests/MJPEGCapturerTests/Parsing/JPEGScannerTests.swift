import CapturerTestKit
import Testing

@testable import MJPEGCapturer

@Suite struct JPEGScannerTests {
    private let boundary = PartBoundary(declared: nil)

    private func scan(_ bytes: [UInt8]) -> JPEGScanner.Outcome {
        var scanner = JPEGScanner()
        return bytes.withUnsafeBytes { scanner.advance($0, boundary) }
    }

    @Test(arguments: TestJPEG.allCases)
    func findsTheEndByteByByte(_ jpeg: TestJPEG) {
        let bytes = jpeg.bytes + [1, 2, 3]
        var scanner = JPEGScanner()
        for count in 0..<jpeg.bytes.count {
            #expect(bytes[..<count].withUnsafeBytes { scanner.advance($0, boundary) } == .incomplete)
        }
        #expect(bytes.withUnsafeBytes { scanner.advance($0, boundary) } == .complete(jpeg.bytes.count))
    }

    @Test func isNotFooledByAThumbnail() {
        let bytes = picture(1, thumbnail: true)
        #expect(scan(bytes) == .complete(bytes.count))
    }

    @Test func seesThatAnotherBegins() {
        let cut = picture(1).dropLast(6)
        #expect(scan(cut + picture(2)) == .interrupted(at: cut.count))
        #expect(scan([0xFF, 0xD8, 0xFF, 0xD8]) == .interrupted(at: 2))
    }

    @Test func passesFillBytesAndRestarts() {
        let bytes: [UInt8] = [
            0xFF, 0xD8, 0xFF, 0xFF, 0xFF, 0xFE, 0, 3, 9, 0xFF, 0xDA, 0, 2, 5, 0xFF, 0, 0xFF, 0xD3, 7, 0xFF, 0xFF, 0xD9,
        ]
        #expect(scan(bytes) == .complete(bytes.count))
    }

    @Test func endsNothingThatIsCutOff() {
        #expect(scan([0xFF, 0xD8, 0xFF, 0xE0, 0xFF, 0xFF, 0xFF, 0xD9]) == .incomplete)
        #expect(scan([0xFF, 0xD8, 0xFF, 0xE0, 0, 0, 0xFF, 0xD9]) == .complete(8))
    }

    /// The segment's length covers a boundary, which is found as soon as its last byte is there, and not before it was proven.
    @Test(arguments: ["\r\n--b\r\n", "\n--b\n", "\n----b--\r\n"])
    func endsAtABoundaryWithinASegment(_ line: String) {
        var boundary = PartBoundary(declared: Array("b".utf8))
        let others = "\n-b\r\n\n--bb\n\n--b-\n\n--b \n\n--"
        let head: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 0xFF, 0xFF] + Array(others.utf8)
        let bytes = head + Array(line.utf8)
        #expect(scan(bytes) == .incomplete)
        #expect(boundary.match(Array("--b".utf8)[...], mayLearn: false) == .part)
        var scanner = JPEGScanner()
        for count in 0..<bytes.count {
            #expect(bytes[..<count].withUnsafeBytes { scanner.advance($0, boundary) } == .incomplete)
        }
        let start = head.count + Array(line.utf8).firstIndex(of: 10)! + 1
        #expect(bytes.withUnsafeBytes { scanner.advance($0, boundary) } == .cutOff(at: start))
        var whole = JPEGScanner()
        #expect((bytes + head).withUnsafeBytes { whole.advance($0, boundary) } == .cutOff(at: start))
        // Beyond the segment's end the line is no boundary: entropy-coded data goes on until a marker.
        let short = bytes.replacing([0xFF, 0xFF], with: [0, UInt8(bytes.count - 5)])
        #expect(scan(short + [0xFF, 0xD9]) == .complete(bytes.count + 2))
    }
}
