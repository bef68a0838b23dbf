import CaptureCore

extension OptionDescription {
    /// The login that clients of a server need, and the certificate that shows them which server it is; see
    /// `OptionValues.serverLogin()` and `OptionValues.serverCertificate()`.
    package static let serverAccess = [
        OptionDescription(
            "serve-login", .secret("NAME:PW|@FILE"), "the name and password that viewers need", default: "none"),
        OptionDescription(
            "serve-certificate", .file, "certificate for https and rtsps, in PEM", default: "without encryption"),
        OptionDescription(
            "serve-key", .file, "key of the certificate, in PEM", default: "in the file of the certificate"),
    ]
}

extension OptionValues {
    /// The value of `--serve-login`; nil where none is needed.
    ///
    /// - Throws: `OptionError` for a value without a name or a password, and for a file that cannot be read.
    package func serverLogin() throws(OptionError) -> (name: String, password: String)? {
        guard let login = try login("serve-login") else { return nil }
        guard !login.password.isEmpty else {
            throw OptionError(
                "serve-login", nil,
                "the password is empty, which anyone can guess; give NAME:PASSWORD.")
        }
        return login
    }

    /// The paths that `--serve-certificate` and `--serve-key` name; nil without a certificate.
    ///
    /// - Throws: `OptionError` for a key without a certificate.
    package func serverCertificate() throws(OptionError) -> (chain: String, key: String)? {
        switch (self["serve-certificate"], self["serve-key"]) {
        case (let path?, let keyPath): return (path, keyPath ?? path)
        case (nil, _?): throw OptionError("serve-key", nil, "there is no certificate; add --serve-certificate FILE.")
        case (nil, nil): return nil
        }
    }
}
