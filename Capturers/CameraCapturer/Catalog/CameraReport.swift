import VideoCapturing

/// What listings and self-tests report about a camera.
struct CameraReport: Sendable {
    var camera: CameraDevice
    /// Nil when they were not queried, or the camera did not answer.
    var modes: [CameraMode.Group]?
    var decision: CameraMode.Decision?
    var controls: [CameraControl]?
    /// Why the camera cannot be used, or did not answer.
    var problem: CaptureError?
}

extension CameraReport {
    /// Without libv4l2 the program would not have started. It has no version function, and cannot be tested without a
    /// device.
    static var library: Finding { Finding("libraries", "libv4l2", .ok, "present") }

    /// The cameras, and whether the user may use them.
    static func findings(_ directory: CameraDirectory = CameraDirectory()) -> [Finding] {
        let cameras: [CameraDevice]
        do throws(CaptureError) {
            cameras = try directory.cameras()
            // Throws an error that says what to do.
            if cameras.isEmpty { _ = try CameraSelector().resolve(in: directory) }
        } catch {
            return [
                Finding(
                    "devices", "cameras", .missing, "none",
                    remedy: printable("\(error.message) Noise and files need no camera.", limit: 500))
            ]
        }
        return cameras.map { finding($0) }
    }

    static func finding(_ camera: CameraDevice) -> Finding {
        let path = printable(camera.path, limit: 60)
        var detail = "\(printable(camera.name, limit: 40)), \(camera.access)"
        if let error = camera.accessError {
            return Finding("devices", path, .missing, detail, remedy: printable(error.message, limit: 500))
        }
        if let holder = camera.holder(), !holder.isThisProgram {
            detail += "; open in \(printable("\(holder)", limit: 40))"
        }
        return Finding("devices", path, .ok, detail)
    }
}

/// A query of a listing about cameras.
struct CameraInquiry: Sendable {
    /// The camera to query; nil for all.
    var device: String?
    /// The size, rate and format to choose a mode for; nil when modes were not queried.
    var modes: CameraMode.Request?
    var wantsControls = false

    /// Whether the query fails without a camera.
    var needsCamera: Bool { device != nil || modes != nil || wantsControls }

    /// Queries the cameras. The report on a camera that does not answer contains its error.
    ///
    /// - Throws: the error of the camera when only one was queried, or when none answers.
    func reports(in directory: CameraDirectory = CameraDirectory()) throws(CaptureError) -> [CameraReport] {
        guard device == nil else {
            let report = report(try CameraSelector(device).resolve(in: directory))
            if let problem = report.problem { throw problem }
            return [report]
        }
        let reports = try directory.cameras().map(report)
        guard needsCamera else { return reports }
        // Throws an error that says what to do.
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

extension CameraInquiry {
    /// The query that the options of a listing describe.
    init(_ values: OptionValues) throws(OptionError) {
        device = try values["device"].map(cameraName)
        wantsControls = values.contains("controls")
        let size = try values.size("size")
        let rate = try values.rate("fps")
        let format = try values.captureFormat("capture-format")
        if values.contains("modes") {
            modes = CameraMode.Request(size: size ?? .vga640x480, rate: cameraRate(rate), requiredFourCC: format)
        } else if let name = ["size", "fps", "capture-format"].first(where: { values.contains($0) }) {
            throw OptionError(name, values[name], "chooses among the modes of a camera; add --modes.")
        }
    }
}
