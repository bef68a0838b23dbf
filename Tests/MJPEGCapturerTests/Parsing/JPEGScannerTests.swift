import CapturerTestKit
import Testing

@testable import MJPEGCapturer

@Suite struct JPEGScannerTests {
    private func scan(_ bytes: [UInt8]) -> JPEGScanner.Outcome {
        var scanner = JPEGScanner()
        return bytes.withUnsafeBytes { scanner.advance($0) }
    }

    @Test(arguments: TestJPEG.allCases)
    func findsTheEndByteByByte(_ jpeg: TestJPEG) {
        let bytes = jpeg.bytes + [1, 2, 3]
        var scanner = JPEGScanner()
        for count in 0..<jpeg.bytes.count {
            #expect(bytes[..<count].withUnsafeBytes { scanner.advance($0) } == .incomplete)
        }
        #expect(bytes.withUnsafeBytes { scanner.advance($0) } == .complete(jpeg.bytes.count))
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
}
