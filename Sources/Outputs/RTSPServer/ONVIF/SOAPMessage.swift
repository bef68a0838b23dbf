/// A request of SOAP 1.2: the operation, and who sends it.
struct SOAPRequest: Sendable, Hashable {
    /// The first element of the body.
    var operation: XMLElement
    /// The identifier of the message (WS-Addressing); nil without one.
    var messageID: String?
    /// The proof of a password (WS-Security); nil without one.
    var token: UsernameToken?

    static let namespace = "http://www.w3.org/2003/05/soap-envelope"

    /// Reads a message.
    ///
    /// - Throws: `malformed` for a document that is not a message.
    init(_ bytes: [UInt8]) throws(XMLReader.Failure) {
        let envelope = try XMLReader.read(bytes)
        guard envelope.name == "Envelope", envelope.namespace == SOAPRequest.namespace,
            let operation = envelope["Body"]?.children.first
        else { throw .malformed }
        self.operation = operation
        let header = envelope["Header"]
        messageID = header?["MessageID"].map { String($0.trimmedText.prefix(256)) }
        token = header?["Security"]?["UsernameToken"].map { UsernameToken($0) }
    }
}

/// A name with the proof of its password (WS-Security UsernameToken Profile 1.0).
struct UsernameToken: Sendable, Hashable {
    var user: String
    /// The password itself, or the digest in base64.
    var password: String
    var isDigest: Bool
    var nonce: String
    var created: String

    init(_ element: XMLElement) {
        user = element["Username"]?.text ?? ""
        password = element["Password"]?.text ?? ""
        isDigest = element["Password"]?.attributes["Type"]?.hasSuffix("#PasswordDigest") ?? false
        nonce = element["Nonce"]?.trimmedText ?? ""
        created = element["Created"]?.trimmedText ?? ""
    }
}

/// An answer of SOAP 1.2 on HTTP.
struct SOAPResponse: Sendable, Hashable {
    /// The status of HTTP.
    var status: Int
    /// The content of the body.
    var body: String

    init(_ body: String) {
        status = 200
        self.body = body
    }

    /// A fault with one of ONVIF's codes, such as `NotAuthorized` (ONVIF Core, 5.8.2).
    init(fault code: String, ofSender: Bool = true, _ reason: String) {
        status = ofSender ? 400 : 500
        body =
            "<s:Fault><s:Code><s:Value>s:\(ofSender ? "Sender" : "Receiver")</s:Value><s:Subcode><s:Value>ter:\(code)"
            + "</s:Value></s:Subcode></s:Code><s:Reason><s:Text xml:lang=\"en\">\(xmlText(reason))</s:Text></s:Reason></s:Fault>"
    }

    /// The document.
    var text: String { SOAPResponse.envelope("", body) }

    private static let namespaces = [
        ("s", SOAPRequest.namespace), ("a", "http://schemas.xmlsoap.org/ws/2004/08/addressing"),
        ("d", "http://schemas.xmlsoap.org/ws/2005/04/discovery"), ("dn", "http://www.onvif.org/ver10/network/wsdl"),
        ("tt", "http://www.onvif.org/ver10/schema"), ("tds", ONVIFDevice.deviceNamespace),
        ("trt", ONVIFDevice.mediaNamespace), ("ter", "http://www.onvif.org/ver10/error"),
    ].map { " xmlns:\($0)=\"\($1)\"" }.joined()

    /// A document with the namespaces of ONVIF and of WS-Discovery.
    static func envelope(_ header: String, _ body: String) -> String {
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><s:Envelope\(namespaces)>"
            + (header.isEmpty ? "" : "<s:Header>\(header)</s:Header>") + "<s:Body>\(body)</s:Body></s:Envelope>"
    }
}
