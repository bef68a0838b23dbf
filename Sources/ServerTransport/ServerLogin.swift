import CaptureCore

extension OptionDescription {
    /// The name and the password that clients of a server need; see `OptionValues.serverLogin()`.
    package static let serveLogin = OptionDescription(
        "serve-login", .secret("NAME:PW|@FILE"), "the name and password that viewers need", default: "none")
}

extension OptionValues {
    /// The value of `--serve-login`; nil where none is needed.
    ///
    /// - Throws: `OptionError` for a value without a name or a password, and for a file that cannot be read.
    package func serverLogin() throws(OptionError) -> (name: String, password: String)? {
        guard let login = try login(OptionDescription.serveLogin.name) else { return nil }
        guard !login.password.isEmpty else {
            throw OptionError(
                OptionDescription.serveLogin.name, nil,
                "the password is empty, which anyone can guess; give NAME:PASSWORD.")
        }
        return login
    }
}
