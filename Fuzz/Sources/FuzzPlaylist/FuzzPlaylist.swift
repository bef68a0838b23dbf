@_spi(Fuzzing) import RadioPlayer

/// A playlist of any bytes, and one in it, names a bounded number of addresses, and a login goes to none of them but those of
/// the server of the playlist.
///
/// The first byte chooses the kind and the address.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzPlaylist(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    guard let start, count > 1 else { return 0 }
    let bytes = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
    let origin = start[0] & 2 == 0 ? "http://host" : "https://host:8443"
    let found = RadioParsing.follow(bytes, from: origin + "/lists/a.pls", isPLS: start[0] & 1 == 0)
    precondition(found.count <= 2 * 65, "the playlist names \(found.count) addresses")
    for destination in found where destination.getsLogin {
        let place = destination.origin.lowercased()
        precondition(place == origin || place == origin + ":80", "the login goes to \(destination.origin)")
    }
    return 0
}
