/// Reads where to serve: `[ADDRESS:]PORT`.
enum ServeOption {
    /// - Parameter text: `8080`, `192.168.1.5:8080`, `[::1]:8080`, `localhost:0`. Port 0 is one that the system picks.
    /// - Returns: loopback where no address is given.
    static func parse(_ text: String) throws(OptionError) -> (address: String, port: Int) {
        let colon = text.lastIndex(of: ":")
        let portText = colon.map { String(text[text.index(after: $0)...]) } ?? text
        var address = colon.map { String(text[..<$0]) } ?? "127.0.0.1"
        if address.hasPrefix("["), address.hasSuffix("]") {
            address = String(address.dropFirst().dropLast())
        } else if address.contains(":") {
            throw OptionError("--serve", text, "write an IPv6 address in brackets, as [::1]:8080.")
        }
        guard let port = Int(portText), (0...65535).contains(port), portText.allSatisfy(\.isNumber) else {
            throw OptionError("--serve", text, "give [ADDRESS:]PORT, as 8080 or 0.0.0.0:8080; a port is 0 to 65535.")
        }
        guard !address.isEmpty else {
            throw OptionError("--serve", text, "the address is empty; write 0.0.0.0:\(port) for every network.")
        }
        return (address, port)
    }
}
