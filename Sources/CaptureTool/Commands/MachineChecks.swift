import CameraCapturer
import ScreenCapturer
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Checks of the machine and the user's session: cameras, displays, programs, the current folder.
enum MachineChecks {
    static func run(environment: (String) -> String? = environmentVariable) -> [Finding] {
        [system] + cameras() + displays(ScreenReport.all(environment: environment)) + programs(environment) + [
            place(".")
        ]
    }

    private static var system: Finding {
        var name = utsname()
        uname(&name)
        func text(_ field: some Any) -> String {
            withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
        let cores = sysconf(Int32(_SC_NPROCESSORS_ONLN))
        return Finding(
            "system", "kernel", .ok, "\(text(name.sysname)) \(text(name.release)) \(text(name.machine)), \(cores) cores"
        )
    }

    /// The cameras, and whether the user may use them.
    static func cameras(_ directory: CameraDirectory = CameraDirectory()) -> [Finding] {
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

    /// The X displays, and whether they can be captured.
    static func displays(_ reports: [ScreenReport]) -> [Finding] {
        guard !reports.isEmpty else {
            return [
                Finding(
                    "display", "display", .missing, "no X server runs here, and DISPLAY is not set",
                    remedy: "Log in to an X11 session, or export DISPLAY. Only screens, windows and players need one.")
            ]
        }
        return reports.map { report in
            let name = "display \(printable(report.display, limit: 40))"
            if let problem = report.problem {
                return Finding(
                    "display", name, .missing, "cannot be captured",
                    remedy: printable(problem.message, limit: 500))
            }
            let monitors = report.monitors.map { "\(printable($0.name, limit: 30)) \($0.frame.sizeText)" }
            return Finding(
                "display", name, .ok, "\(monitors.joined(separator: ", ")), \(report.windows.count) windows")
        }
    }

    /// Programs that play or check outputs. Capturing needs none of them.
    private static func programs(_ environment: (String) -> String?) -> [Finding] {
        let folders = (environment("PATH") ?? "/usr/bin:/bin").split(separator: ":").map(String.init)
        return [("ffplay", "ffmpeg"), ("ffprobe", "ffmpeg"), ("vpxdec", "vpx-tools"), ("chromium", "chromium")].map {
            (name: String, package: String) -> Finding in
            let found = folders.map { folder -> String in "\(folder)/\(name)" }.first { access($0, X_OK) == 0 }
            if let found { return Finding("programs", name, .ok, found) }
            return Finding(
                "programs", name, .missing, "not in PATH; plays or checks outputs",
                remedy: "sudo apt-get install \(package)")
        }
    }

    /// Whether files can be written to a folder.
    static func place(_ folder: String) -> Finding {
        guard access(folder, W_OK | X_OK) == 0 else {
            return Finding(
                "place", "current folder", .missing, "cannot be written: \(String(cString: strerror(errno)))",
                remedy: "Change to a folder that you may write to, or name one with --output.")
        }
        var space = statvfs()
        guard statvfs(folder, &space) == 0 else { return Finding("place", "current folder", .ok, "can be written") }
        let free = Double(space.f_bavail) * Double(space.f_frsize)
        guard free >= 100e6 else {
            return Finding(
                "place", "current folder", .missing, "only \(scaled(free, "B")) free",
                remedy: "Free some space, or write to another disk with --output.")
        }
        return Finding("place", "current folder", .ok, "can be written, \(scaled(free, "B")) free")
    }
}
