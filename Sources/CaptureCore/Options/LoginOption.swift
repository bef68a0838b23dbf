#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension OptionDescription {
    /// The login of a network camera.
    package static let login = OptionDescription(
        "login", .secret("NAME:PASSWORD"), "the login; @FILE has it in its first line",
        default: "that of the URL, or of $CAPTURER_LOGIN")
}

extension OptionValues {
    /// A name and a password: `NAME:PASSWORD`, or `@FILE`, whose first line is that. The file keeps a password off the
    /// command line, which every user of the machine can read.
    ///
    /// - Throws: ``OptionError``, which never contains the value, since that may be a password.
    public func login(_ name: String) throws(OptionError) -> (name: String, password: String)? {
        guard let text = self[name] else { return nil }
        return try parseLogin(text) { message in OptionError(name, nil, message) }
    }

    /// The login of an address: that of the option `login`; without it, and without one in the URL, that of `CAPTURER_LOGIN`.
    ///
    /// - Throws: as ``login(_:)``.
    package func login(
        for url: String, _ environment: (String) -> String? = environmentVariable
    ) throws(OptionError) -> (name: String, password: String)? {
        if let login = try login("login") { return login }
        return hasUserInfo(url) ? nil : try loginFromEnvironment("CAPTURER_LOGIN", environment)
    }

    /// The options with the login itself in place of a file's name: a pipe can be read only once.
    ///
    /// - Throws: as ``login(_:)``.
    package func readingLogin() throws(OptionError) -> OptionValues {
        guard let login = try login("login"), !login.name.hasPrefix("@") else { return self }
        var values = self
        values["login"] = "\(login.name):\(login.password)"
        return values
    }

    /// A URL with its ``login(for:_:)`` in it.
    package func addingLogin(
        to url: String, _ environment: (String) -> String? = environmentVariable
    ) throws(OptionError) -> String {
        try login(for: url, environment).map { addingUserInfo($0.name, $0.password, to: url) } ?? url
    }

    /// A secret such as a token: the text, or `@FILE`, whose first line is that.
    ///
    /// - Throws: ``OptionError``, which never contains the value.
    public func secret(_ name: String) throws(OptionError) -> String? {
        guard let text = self[name] else { return nil }
        return try parseSecret(text) { message in OptionError(name, nil, message) }
    }
}

/// The name and password in a variable of the environment, as ``OptionValues/login(_:)`` reads them; nil when it is not
/// set, or empty.
private func loginFromEnvironment(
    _ name: String, _ environment: (String) -> String? = environmentVariable
) throws(OptionError) -> (name: String, password: String)? {
    guard let text = environment(name), !text.isEmpty else { return nil }
    return try parseLogin(text) { message in OptionError(variable: name, message) }
}

private func parseLogin(
    _ text: String, _ error: (_ message: String) -> OptionError
) throws(OptionError) -> (name: String, password: String) {
    let line = try parseSecret(text, error)
    guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else {
        throw error("give NAME:PASSWORD, or @FILE with that in its first line.")
    }
    return (String(line[..<colon]), String(line[line.index(after: colon)...]))
}

private func parseSecret(
    _ text: String, _ error: (_ message: String) -> OptionError
) throws(OptionError) -> String {
    guard text.hasPrefix("@") else { return text }
    let path = String(text.dropFirst())
    guard let line = firstLine(of: path) else {
        throw error("the file '\(path)' cannot be read: \(String(cString: strerror(errno))).")
    }
    return line
}

private func firstLine(of path: String) -> String? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var line: UnsafeMutablePointer<CChar>?
    var capacity = 0
    defer { free(line) }
    // A folder opens and cannot be read.
    guard getline(&line, &capacity, file) >= 0, let line else { return ferror(file) != 0 ? nil : "" }
    return String(String(cString: line).prefix { !$0.isNewline })
}

/// A variable of the environment; nil when it is not set.
package func environmentVariable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
}
