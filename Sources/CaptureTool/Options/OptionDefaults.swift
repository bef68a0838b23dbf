import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Values of options from elsewhere than the command line: variables of the environment (`CAPTURER_BITRATE=2M`) and a file of
/// lines such as `bitrate = 2M`. The command line counts more than the environment, and that more than the file.
///
/// Names and kinds are those of the catalogue, so that every option can be given in each way.
struct OptionDefaults {
    /// The values, without those of the command line.
    private(set) var values = OptionValues()
    /// Where the value of an option comes from, for messages.
    private var origins: [String: String] = [:]

    /// A variable that network cameras read themselves, so that it is of no effect with other sources.
    private static let ownVariables = ["CAPTURER_LOGIN"]
    private static let prefix = "CAPTURER_"
    private static let maximumFileSize = 1 << 20

    /// The values of the environment, and of the file that `--config` or `CAPTURER_CONFIG` names.
    ///
    /// - Parameters:
    ///   - given: the values of the command line.
    ///   - options: the options that there are.
    ///   - variables: the environment.
    /// - Throws: a usage error that names the line or the variable; `noInput` for a file that cannot be read.
    init(
        besides given: OptionValues, _ options: [OptionDescription], variables: [(name: String, value: String)]
    ) throws(ExitError) {
        var environment = OptionValues()
        for (variable, value) in variables.sorted(by: { $0.name < $1.name }) {
            guard variable.hasPrefix(OptionDefaults.prefix), !OptionDefaults.ownVariables.contains(variable) else {
                continue
            }
            let name = variable.dropFirst(OptionDefaults.prefix.count).lowercased().replacing("_", with: "-")
            // Others may have variables with this prefix too.
            guard let option = options.first(where: { $0.isNamed(name) }) else { continue }
            let lines = option.isRepeatable ? value.split(separator: "\n").map(String.init) : [value]
            for line in lines { try OptionDefaults.add(option, line, "the variable \(variable)", &environment) }
        }
        if let path = given["config"] ?? environment["config"] {
            try read(path, options)
        }
        values = values.merging(environment)
        for name in environment.names where name != "config" {
            origins[name] = "the variable \(OptionDefaults.variable(name))"
        }
        values["config"] = nil
        for name in given.names { origins[name] = nil }
    }

    /// The variables of the environment that stand for options.
    static func variables(of options: [OptionDescription]) -> [(name: String, value: String)] {
        options.flatMap { [$0.name] + $0.aliases }.compactMap { name in
            let variable = OptionDefaults.variable(name)
            return environmentVariable(variable).map { (variable, $0) }
        }
    }

    /// Checks that files with secrets may be read: a service that may not is not to be started again and again.
    ///
    /// - Parameter login: the variable that network cameras read.
    /// - Throws: `noPermission` for a file that may not; what else is wrong with it is found when it is read.
    static func checkSecrets(
        _ values: OptionValues, _ options: [OptionDescription],
        login: String? = environmentVariable("CAPTURER_LOGIN")
    ) throws(ExitError) {
        let secrets =
            options.filter(\.isSecret).flatMap { option in values.all(option.name).map { ("--\(option.name)", $0) } }
            + (login.map { [("CAPTURER_LOGIN", $0)] } ?? [])
        for (name, value) in secrets where value.hasPrefix("@") {
            let path = String(value.dropFirst())
            guard faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0, errno == EACCES else { continue }
            throw ExitError(
                .noPermission,
                "\(name): the file \(printable(path, limit: 200)) may not be read; check its owner and mode.")
        }
    }

    /// Variables that are probably meant for an option, and stand for none, with the name that is meant.
    ///
    /// - Parameter names: those of the environment.
    static func misspelled(_ names: [String], _ options: [OptionDescription]) -> [(variable: String, meant: String)] {
        names.compactMap { variable in
            guard variable.hasPrefix(prefix), !ownVariables.contains(variable) else { return nil }
            let name = variable.dropFirst(prefix.count).lowercased().replacing("_", with: "-")
            guard !options.contains(where: { $0.isNamed(name) }) else { return nil }
            // Others may have variables with this prefix too.
            return nearestName(to: name, in: options.map(\.name)).map { (variable, OptionDefaults.variable($0)) }
        }
    }

    /// The names of the variables with which the program was started.
    static var environmentNames: [String] {
        processStrings("environ").map { entry in String(entry.prefix { $0 != "=" }) }
    }

    /// The error, with where its option comes from when that is not the command line.
    func explained(_ error: OptionError) -> ExitError {
        guard let origin = origins[error.option] else { return ExitError(error) }
        return ExitError(.usage, "\(error.description) It comes from \(origin).")
    }

    private static func variable(_ name: String) -> String {
        OptionDefaults.prefix + name.uppercased().replacing("-", with: "_")
    }

    private mutating func read(_ path: String, _ options: [OptionDescription]) throws(ExitError) {
        try add(lines: try OptionDefaults.text(of: path), of: path, options)
    }

    /// Without any value.
    init() {}

    /// Adds the values of a file's lines.
    mutating func add(lines: String, of path: String, _ options: [OptionDescription]) throws(ExitError) {
        var text = lines
        // Editors of Windows begin a file with it.
        if text.first == "\u{FEFF}" { text.removeFirst() }
        let lines = text.split(
            omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (index, line) in lines.enumerated() {
            let place = "\(path), line \(index + 1)"
            let text = OptionDefaults.trimmed(line)
            if text.isEmpty || text.hasPrefix("#") { continue }
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(OptionDefaults.trimmed(parts[0]))
            let first = String(name.prefix { !$0.isWhitespace })
            if parts.count == 1, first.count < name.count, let option = options.first(where: { $0.isNamed(first) }) {
                let example = option.isFlag ? "yes" : option.placeholder
                throw ExitError(.usage, "\(place): no '=' in the line; write \(option.name) = \(example).")
            }
            guard let option = options.first(where: { $0.isNamed(name) }), option.name != "config" else {
                let names = options.map(\.name).filter { $0 != "config" }
                let guess = nearestName(to: name, in: names).map { " Did you mean \($0)?" } ?? ""
                // What follows the first word may be a password.
                let word = String(name.prefix { $0.isLetter || $0.isNumber || $0 == "-" })
                throw ExitError(.usage, "\(place): there is no option \(printable(word, limit: 60)).\(guess)")
            }
            guard parts.count == 2 || option.isFlag else {
                throw ExitError(
                    .usage, "\(place): \(option.name) needs a value; write \(option.name) = \(option.placeholder).")
            }
            let value = parts.count == 2 ? String(OptionDefaults.trimmed(parts[1])) : "yes"
            // The message does not quote the value, which may be a password.
            guard ![" #", "\t#"].contains(where: value.contains), !value.hasPrefix("# ") else {
                throw ExitError(
                    .usage,
                    "\(place): a comment needs a line of its own; give a value that contains ' #' on the command line.")
            }
            try OptionDefaults.add(option, value, place, &values)
            origins[option.name] = place
        }
    }

    /// Adds a value; of a flag whether it is set.
    private static func add(
        _ option: OptionDescription, _ value: String, _ origin: String, _ values: inout OptionValues
    ) throws(ExitError) {
        guard option.isFlag else {
            if option.isRepeatable { values.append(value, for: option.name) } else { values[option.name] = value }
            return
        }
        switch value.lowercased() {
        case "yes", "true", "on", "1": values[option.name] = ""
        case "no", "false", "off", "0", "": values[option.name] = nil
        default:
            throw ExitError(
                .usage, "\(origin): \(option.name) is on or off; give yes or no, not '\(printable(value, limit: 60))'.")
        }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        guard let first = text.firstIndex(where: { !$0.isWhitespace }),
            let last = text.lastIndex(where: { !$0.isWhitespace })
        else { return "" }
        return text[first...last]
    }

    private static func text(of path: String) throws(ExitError) -> String {
        guard let file = fopen(path, "r") else {
            let code = errno
            throw ExitError(
                code == EACCES ? .noPermission : .noInput,
                "--config: \(path) cannot be read: \(String(cString: strerror(code))).")
        }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: maximumFileSize + 1)
        let count = fread(&bytes, 1, bytes.count, file)
        guard ferror(file) == 0, count <= maximumFileSize else {
            throw ExitError(.noInput, "--config: \(path) is no file of options; it cannot be read or is too long.")
        }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}
