import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The settings of the server.
struct ServingPlan: Sendable {
    var address: String
    var port: Int
    var login: (name: String, password: String)?
    /// The certificate and its key, in PEM, for https.
    var certificate: (path: String, keyPath: String)?
    var quality = 80
    /// The maximum number of consecutive unchanged frames that are left out.
    var dropSameFrames = 0
}

extension ServingPlan {
    /// Parses the options of the server; nil without `--serve`.
    init?(_ options: CaptureOptions) throws(OptionError) {
        guard let text = options.serve else {
            let settings = [
                ("--serve-login", options.serveLogin), ("--serve-certificate", options.serveCertificate),
                ("--serve-key", options.serveKey), ("--jpeg-quality", options.jpegQuality),
                ("--drop-same-frames", options.dropSameFrames),
            ]
            if let (name, _) = settings.first(where: { $0.1 != nil }) {
                throw OptionError(name, nil, "has no effect without a server; add --serve PORT.")
            }
            return nil
        }
        (address, port) = try ServeOption.parse(text)
        if let text = options.serveLogin {
            let login = try LoginOption.parse(text, option: "--serve-login")
            guard !login.password.isEmpty else {
                throw OptionError(
                    "--serve-login", nil, "the password is empty, which anyone can guess; give NAME:PASSWORD.")
            }
            self.login = login
        }
        switch (options.serveCertificate, options.serveKey) {
        case (let path?, let keyPath): certificate = (path, keyPath ?? path)
        case (nil, _?): throw OptionError("--serve-key", nil, "there is no certificate; add --serve-certificate FILE.")
        case (nil, nil): break
        }
        if let text = options.jpegQuality {
            quality = try CountOption.parse(text, option: "--jpeg-quality", range: 1...100)
        }
        if let text = options.dropSameFrames {
            dropSameFrames = try CountOption.parse(text, option: "--drop-same-frames", range: 0...1_000_000)
        }
    }
}

/// Parses the address to serve at: `[ADDRESS:]PORT`.
enum ServeOption {
    /// - Parameter text: `8080`, `192.168.1.5:8080`, `[::1]:8080`, `localhost:0`. For port 0 the system picks a port.
    /// - Returns: the address, or loopback where none is given, and the port.
    static func parse(_ text: String) throws(OptionError) -> (address: String, port: Int) {
        let colon = text.lastIndex(of: ":")
        let portText = colon.map { String(text[text.index(after: $0)...]) } ?? text
        var address = colon.map { String(text[..<$0]) } ?? "127.0.0.1"
        if address.hasPrefix("["), address.hasSuffix("]") {
            address = String(address.dropFirst().dropLast())
        } else if address.contains(":") {
            throw OptionError("--serve", text, "write an IPv6 address in brackets, such as [::1]:8080.")
        }
        guard let port = Int(portText), (0...65535).contains(port), portText.allSatisfy(\.isNumber) else {
            throw OptionError(
                "--serve", text, "give [ADDRESS:]PORT, such as 8080 or 0.0.0.0:8080; a port is 0 to 65535.")
        }
        guard !address.isEmpty else {
            throw OptionError("--serve", text, "the address is empty; write 0.0.0.0:\(port) for all networks.")
        }
        return (address, port)
    }
}

/// Parses a name and a password: `NAME:PASSWORD`, or `@FILE`, whose first line is that. The file keeps a password off
/// the command line, which every user of the machine can read.
enum LoginOption {
    static func parse(_ text: String, option: String) throws(OptionError) -> (name: String, password: String) {
        var line = text
        if text.hasPrefix("@") {
            guard let read = firstLine(of: String(text.dropFirst())) else {
                throw OptionError(option, text, "the file cannot be read: \(String(cString: strerror(errno))).")
            }
            line = read
        }
        // The value may be a password and is not shown.
        guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else {
            throw OptionError(option, nil, "give NAME:PASSWORD, or @FILE with that in its first line.")
        }
        return (String(line[..<colon]), String(line[line.index(after: colon)...]))
    }

    private static func firstLine(of path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        guard getline(&line, &capacity, file) >= 0, let line else { return "" }
        return String(String(cString: line).prefix { !$0.isNewline })
    }
}
