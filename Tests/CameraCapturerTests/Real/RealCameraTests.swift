import CameraCapturer
import CapturerTestKit
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The contract on cameras with drivers of the kernel's own. `Tests/CameraGuest/test_our_conformance.py` runs it.
@Suite(.enabled(if: !RealCameras.nodes.isEmpty, "CAPTURER_CAMERAS names no camera."), .serialized)
struct RealCameraTests {
    /// Small, since loops over pixels are slow in a build for debugging.
    static let preset = PixelSize(width: 320, height: 180)

    @Test(arguments: RealCameras.nodes) func keepsTheContract(node: String) async {
        let report = await ConformanceSuite(name: node) {
            CameraCapturer(device: node, preset: Self.preset, desiredFrameRate: 30)
        }.runDetached()
        print(report)
        #expect(report.failures.isEmpty, "\(report)")
        #expect(report.checks.count { $0.outcome == .passed } > report.checks.count / 2)
    }
}

/// The cameras that CAPTURER_CAMERAS names, such as "/dev/video0 /dev/video1".
enum RealCameras {
    static let nodes: [String] =
        getenv("CAPTURER_CAMERAS").map { String(cString: $0).split(separator: " ").map(String.init) } ?? []
}
