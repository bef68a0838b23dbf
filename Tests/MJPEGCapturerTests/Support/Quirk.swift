import Testing

/// A way in which some server sends its stream.
struct Quirk: Sendable, CustomTestStringConvertible {
    var name: String
    var contentType = "multipart/x-mixed-replace; boundary=frame"
    var body: [UInt8]
    /// The numbers of the pictures that are to come.
    var expected = [0, 1, 2, 3]
    /// How many pictures are damaged.
    var damaged: UInt64 = 0

    var testDescription: String { name }

    /// Four parts, of which each is one string and one picture and another string.
    static func parts(
        _ head: (Int, [UInt8]) -> String, after: String = "\r\n", first: String = "",
        picture make: (Int) -> [UInt8] = { picture($0) }
    ) -> [UInt8] {
        var body = Array(first.utf8)
        for number in 0..<4 {
            let jpeg = make(number)
            body += Array(head(number, jpeg).utf8) + jpeg + Array(after.utf8)
        }
        return body
    }

    static func usual(_ boundary: String = "--frame") -> (Int, [UInt8]) -> String {
        { "\(boundary)\r\nContent-Type: image/jpeg\r\nContent-Length: \($1.count)\r\n\r\n" }
    }

    private static let mixed = "multipart/x-mixed-replace;"

    static let all = boundaries + heads + lengths + damages

    static let boundaries: [Quirk] = [
        Quirk(name: "plain", body: parts(usual())),
        Quirk(name: "declared with dashes", contentType: "\(mixed)boundary=--frame", body: parts(usual())),
        Quirk(
            name: "declared with dashes, four sent", contentType: "\(mixed)boundary=--frame",
            body: parts(usual("----frame"))),
        Quirk(name: "sent without dashes", body: parts(usual("frame"))),
        Quirk(
            name: "declared with dashes, sent without", contentType: "\(mixed) boundary=--frame",
            body: parts(usual("frame"))),
        Quirk(name: "quoted", contentType: "\(mixed) boundary=\"--fr ame;\"", body: parts(usual("--fr ame;"))),
        Quirk(name: "blank before equals", contentType: "\(mixed) Boundary =frame", body: parts(usual())),
        Quirk(name: "semicolon behind", contentType: "\(mixed) boundary=frame;", body: parts(usual())),
        Quirk(name: "declared wrongly", contentType: "\(mixed) boundary=other", body: parts(usual())),
        Quirk(name: "not declared", contentType: "multipart/x-mixed-replace", body: parts(usual())),
        Quirk(name: "dashes only", contentType: "\(mixed) boundary=--", body: parts(usual("--"))),
        Quirk(
            name: "none before the first part",
            body: parts({ number, jpeg in
                (number == 0 ? "" : "--frame\r\n") + "Content-Type: image/jpeg\r\nContent-Length: \(jpeg.count)\r\n\r\n"
            })),
        Quirk(
            name: "none before the first picture",
            body: parts({ number, jpeg in
                number == 0 ? "" : "--frame\r\nContent-Type: image/jpeg\r\n\r\n"
            })),
        Quirk(name: "none, but heads", body: parts(usual("\r\n"))),
        Quirk(
            name: "none, and no heads", contentType: "application/octet-stream", body: parts({ _, _ in "" }, after: "")),
        Quirk(name: "printed twice", body: parts({ "--frame\r\n" + usual()($0, $1) })),
        Quirk(
            name: "of 70 characters", contentType: "\(mixed) boundary=\(String(repeating: "x", count: 70))",
            body: parts(usual("--" + String(repeating: "x", count: 70)))),
    ]

    static let heads: [Quirk] = [
        Quirk(
            name: "line feeds only",
            body: parts({ "--frame\nContent-Type: image/jpeg\nContent-Length: \($1.count)\n\n" }, after: "\n")),
        Quirk(
            name: "extra blank lines",
            body: parts({ _, _ in "\r\n\r\n--frame\r\n\r\nContent-Type: image/jpeg\r\n\r\n\r\n" })),
        Quirk(
            name: "blank line within the head",
            body: parts({ "--frame\r\nContent-Type: image/jpeg\r\n\r\nContent-Length: \($1.count)\r\n\r\n" })),
        Quirk(
            name: "no blank line",
            body: parts({ "--frame\r\nContent-Type: image/jpeg\r\nContent-Length: \($1.count)\r\n" })),
        Quirk(
            name: "line without a colon",
            body: parts({ "--frame\r\nMotion JPEG\r\nContent-Length: \($1.count)\r\n\r\n" })),
        Quirk(name: "blank before the colon", body: parts({ "--frame\r\nContent-Length : \($1.count)\r\n\r\n" })),
        Quirk(
            name: "upper case",
            body: parts({ "--frame\r\nCONTENT-TYPE: IMAGE/JPEG\r\nCONTENT-LENGTH: \($1.count)\r\n\r\n" })),
        Quirk(
            name: "image/jpg",
            body: parts({ "--frame\r\nContent-Type: image/jpg\r\nContent-Length: \($1.count)\r\n\r\n" })),
        Quirk(
            name: "image/jpeg;size=", body: parts({ "--frame\r\nContent-Type: image/jpeg;size=\($1.count)\r\n\r\n" })),
        Quirk(
            name: "uStreamer",
            body: parts({
                "--frame\r\nContent-Type: image/jpeg\r\nContent-Length: \($1.count)\r\nX-Timestamp: 1700000000.\($0)00000\r\n\r\n"
            })),
        Quirk(
            name: "ZoneMinder, without its camera at first",
            contentType: "\(mixed) boundary=ZoneMinderFrame",
            body: parts(
                {
                    usual("--ZoneMinderFrame")($0, $1).dropLast(2)
                        + ($0 < 2 ? "\r\n" : "X-Timestamp: \($0 == 2 ? 0 : 1_795_303_932).050598\r\n\r\n")
                }, after: "\r\n\r\n")),
        Quirk(
            name: "ZoneMinder's recordings", contentType: "\(mixed)boundary=ZoneMinderFrame",
            body: parts({ "--ZoneMinderFrame\r\nContent-Length: \($1.count)\r\n\r\n" })),
        Quirk(
            name: "uStreamer's empty parts",
            body: parts({
                usual()($0, []) + "\r\n" + usual()($0, $1)
            })),
        Quirk(
            name: "empty parts without a length",
            body: parts({
                "--frame\r\nContent-Type: image/jpeg\r\n\r\n\r\n" + usual()($0, $1)
            })),
        Quirk(
            name: "sound in between",
            body: parts({
                "--frame\r\nContent-Type: audio/basic\r\nContent-Length: 9\r\n\r\nabc\u{1}\u{2}defg\r\n"
                    + usual()($0, $1)
            })),
    ]

    static let lengths: [Quirk] = [
        Quirk(name: "no length", body: parts({ _, _ in "--frame\r\nContent-Type: image/jpeg\r\n\r\n" })),
        Quirk(name: "padded length", body: parts({ "--frame\r\nContent-Length:    \($1.count)     \r\n\r\n" })),
        Quirk(name: "length zero", body: parts({ _, _ in "--frame\r\nContent-Length: 0\r\n\r\n" })),
        Quirk(name: "length with the line end", body: parts({ "--frame\r\nContent-Length: \($1.count + 2)\r\n\r\n" })),
        Quirk(name: "length too small", body: parts({ "--frame\r\nContent-Length: \($1.count - 9)\r\n\r\n" })),
        Quirk(name: "length too large", body: parts({ "--frame\r\nContent-Length: \($1.count + 5000)\r\n\r\n" })),
        Quirk(
            name: "length beyond all sense",
            body: parts({ _, _ in "--frame\r\nContent-Length: 99999999999999999999\r\n\r\n" })),
        Quirk(name: "negative length", body: parts({ _, _ in "--frame\r\nContent-Length: -1\r\n\r\n" })),
        Quirk(
            name: "two lengths", body: parts({ "--frame\r\nContent-Length: 5\r\nContent-Length: \($1.count)\r\n\r\n" })),
        Quirk(
            name: "lengths wrong in the end: too small",
            body: parts({ "--frame\r\nContent-Length: \($0 == 3 ? $1.count - 30 : $1.count)\r\n\r\n" })),
        Quirk(
            name: "lengths wrong in the end: too large",
            body: parts({ "--frame\r\nContent-Length: \($0 == 2 ? $1.count + 40 : $1.count)\r\n\r\n" })),
        Quirk(name: "padded pictures", body: parts(usual(), picture: { picture($0) + [0, 0, 0, 0] })),
        Quirk(
            name: "more behind pictures",
            body: parts(usual(), picture: { picture($0) + [0xFF, 0xFF, 1, 10, 0xFF, 0xD8, 3] })),
        Quirk(name: "no line end behind", body: parts(usual(), after: "")),
        Quirk(name: "no line end behind, no length", body: parts({ _, _ in "--frame\r\n\r\n" }, after: "")),
        Quirk(
            name: "thumbnails", body: parts({ _, _ in "--frame\r\n\r\n" }, picture: { picture($0, thumbnail: true) })),
    ]

    /// Picture number 2 is damaged each time.
    static let damages: [Quirk] = [
        Quirk(
            name: "cut off, with a length",
            body: parts(usual(), picture: { $0 == 2 ? Array(picture(2).dropLast(40)) : picture($0) }),
            expected: [0, 1, 3], damaged: 1),
        Quirk(
            name: "cut off, with the length it should have",
            body: parts(
                { number, _ in usual()(number, picture(number)) },
                picture: { $0 == 2 ? Array(picture(2).dropLast(40)) : picture($0) }),
            expected: [0, 1, 3], damaged: 1),
        Quirk(
            name: "cut off, no length",
            body: parts(
                { _, _ in "--frame\r\n\r\n" }, picture: { $0 == 2 ? Array(picture(2).dropLast(40)) : picture($0) }),
            expected: [0, 1, 3], damaged: 1),
        Quirk(
            name: "no picture",
            body: parts(
                { _, _ in "--frame\r\nContent-Type: image/jpeg\r\n\r\n" },
                picture: { $0 == 2 ? Array("<no picture>".utf8) : picture($0) }),
            expected: [0, 1, 3], damaged: 1),
        Quirk(
            name: "too short to be one",
            body: parts(usual(), picture: { $0 == 2 ? [0xFF, 0xD8, 0xFF, 0xD9] : picture($0) }),
            expected: [0, 1, 3], damaged: 1),
        Quirk(name: "ended by its boundary", body: parts(usual()) + Array("--frame--\r\n".utf8) + parts(usual())),
    ]
}
