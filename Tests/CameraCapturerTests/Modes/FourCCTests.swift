import CameraCapturer
import Testing
import VideoCapturing

@Suite struct FourCCTests {
    @Test func packsTheFirstCharacterLowest() {
        #expect(FourCC.yuyv.rawValue == 0x5659_5559)
        #expect(FourCC("MJPG" as String)?.rawValue == FourCC.mjpeg.rawValue)
        #expect(FourCC("Y16" as String)?.rawValue == FourCC("Y16 " as String)?.rawValue)
    }

    @Test(
        arguments: [
            (0x5659_5559, "YUYV"), (0, "\\x00\\x00\\x00\\x00"), (0x2036_3159, "Y16"), (0xA036_3159, "Y16-BE"),
            (0x0A47_4A4D, "MJG\\x0A"), (0x7F1B_5B4D, "M[\\x1B\\x7F"), (0x2020_2020, "\\x20"),
        ] as [(UInt32, String)])
    func printsAnyNumber(value: UInt32, text: String) {
        #expect("\(FourCC(rawValue: value))" == text)
    }

    @Test func readsWhatItPrints() {
        for code in [FourCC.nv12, .mjpeg, "Y16", "Y04", FourCC(rawValue: 0xA036_3159)] {
            #expect(FourCC("\(code)" as String) == code)
        }
    }

    /// Spaces alone, a control character, a backslash, and a big-endian code of one character.
    @Test(arguments: [0x2020_2020, 0x2020_2001, 0x3032_785C, 0xA020_2041, 0x4542_2D41] as [UInt32])
    func readsNoOtherCodeFromWhatItPrints(value: UInt32) {
        let code = FourCC(rawValue: value)
        #expect(FourCC("\(code)" as String) ?? code == code)
    }

    @Test(arguments: ["", "YUYVX", "\u{e9}", "\n", " Y16", "YUYVX-BE"])
    func refusesNonsense(text: String) {
        #expect(FourCC(text) == nil)
    }

    @Test func knowsHowFormatsAreTaken() {
        #expect(CaptureFormat.of(.nm12)?.cost == CameraMode.ConversionCost.none)
        #expect(CaptureFormat.of(.yv12)?.pixelFormat == .yv12)
        #expect(CaptureFormat.of(.uyvy)?.cost == .subsample)
        #expect(CaptureFormat.of(.xbgr32)?.pixelFormat == .bgra)
        #expect(CaptureFormat.of(.rgb24)?.isRGB == true)
        #expect(CaptureFormat.of(.jpeg)?.cost == .decode)
        for code: FourCC in [.h264, .hevc, .grey, .sbggr8, .vyuy] { #expect(CaptureFormat.of(code) == nil) }
    }
}
