/// Where and how the pictures are served, as it was asked for.
struct ServingPlan: Sendable {
    var address: String
    var port: Int
    var login: (name: String, password: String)?
    /// The certificate and its key, in PEM, for https.
    var certificate: (path: String, keyPath: String)?
    var quality = 80
    /// The most frames in a row that are left out since they show the same.
    var dropSameFrames = 0
}

extension ServingPlan {
    /// Nil when nothing is to be served.
    init?(_ options: CaptureOptions) throws(OptionError) {
        guard let text = options.serve else {
            let settings = [
                ("--serve-login", options.serveLogin), ("--serve-certificate", options.serveCertificate),
                ("--serve-key", options.serveKey), ("--jpeg-quality", options.jpegQuality),
                ("--drop-same-frames", options.dropSameFrames),
            ]
            if let (name, _) = settings.first(where: { $0.1 != nil }) {
                throw OptionError(name, nil, "nothing is served; add --serve PORT.")
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
