import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Checks of the machine and the user's session that belong to no source: the kernel, programs, the current folder.
enum MachineChecks {
    /// Programs that play outputs, and the folder to write to.
    static func session(environment: (String) -> String? = environmentVariable) -> [Finding] {
        programs(environment) + [place(".")]
    }

    /// The kernel and the processors.
    static var system: [Finding] {
        var name = utsname()
        uname(&name)
        func text(_ field: some Any) -> String {
            withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
        let kernel = "\(text(name.sysname)) \(text(name.release)) \(text(name.machine))"
        let detail = "\(kernel), \(Machine.processorCount) cores"
        return [Finding("system", "kernel", .ok, detail)]
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
