import CameraCapturer
import VideoCapturing

/// What `list` is asked about cameras.
struct CameraInquiry: Sendable {
    /// The camera that is meant; nil for all.
    var device: String?
    /// For what a mode is to be chosen, where modes are asked for.
    var modes: CameraModeRequest?
    var wantsControls = false

    /// Whether nothing can be told without a camera.
    var needsCamera: Bool { device != nil || modes != nil || wantsControls }

    /// Asks the cameras. One that does not answer says why, unless it is the only one that was meant, or none answers.
    func reports(in directory: CameraDirectory = CameraDirectory()) throws(CaptureError) -> [CameraReport] {
        guard device == nil else {
            let report = report(try CameraSelector(device).resolve(in: directory))
            if let problem = report.problem { throw problem }
            return [report]
        }
        let reports = try directory.cameras().map(report)
        guard needsCamera else { return reports }
        // Throws, with what to do about it.
        if reports.isEmpty { _ = try CameraSelector().resolve(in: directory) }
        if reports.allSatisfy({ $0.problem != nil }), let problem = reports.first?.problem { throw problem }
        return reports
    }

    private func report(_ camera: CameraDevice) -> CameraReport {
        var report = CameraReport(camera: camera)
        do throws(CaptureError) {
            if let error = camera.accessError { throw error }
            if let modes {
                report.modes = try camera.modes()
                report.decision = try camera.decide(modes)
            }
            if wantsControls { report.controls = try camera.controls() }
        } catch {
            report.problem = error
        }
        return report
    }
}

/// What is told of a camera.
struct CameraReport: Sendable {
    var camera: CameraDevice
    /// Nil when they were not asked for, or the camera did not answer.
    var modes: [CameraModeGroup]?
    var decision: CameraModeDecision?
    var controls: [CameraControl]?
    /// Why the camera cannot be used, or did not answer.
    var problem: CaptureError?
}
