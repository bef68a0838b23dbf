/// What a viewer may ask for in the address of a stream, as uStreamer has it.
struct StreamParameters: Sendable, Hashable {
    /// A name that the viewer gives itself, found again in `/state` and in its cookie; as it is written in addresses.
    var key: String?
    /// Times, sizes and counts in each part's head.
    var extraHeaders = false
    /// Each part's head right after the part before.
    var advanceHeaders = false
    /// The last picture of a series once more, when those that follow are left out since they show the same.
    var dualFinalFrames = false
    /// Heads without pictures.
    var zeroData = false

    init(_ query: Query = Query("")) {
        key = query["key"].map { percentEncode(String($0.prefix(128))) }
        extraHeaders = query.isTrue("extra_headers")
        advanceHeaders = query.isTrue("advance_headers")
        dualFinalFrames = query.isTrue("dual_final_frames")
        zeroData = query.isTrue("zero_data")
    }

    /// Whether the viewer takes the parts as all others do.
    var isPlain: Bool { !extraHeaders && !advanceHeaders && !zeroData }
}
