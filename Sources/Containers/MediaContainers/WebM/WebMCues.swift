/// The index of a file: at which times decoding can begin, and where.
struct WebMCues {
    private struct Cue {
        var time: Int64
        var position: Int64
    }

    private var cues: [Cue] = []

    /// Key frames closer together than this many milliseconds share a cue, so that the index of a file of
    /// key frames only stays small: 115 KB an hour at the most.
    private static let leastDistance: Int64 = 500

    var isEmpty: Bool { cues.isEmpty }

    /// Notes a cluster that begins with a key frame. Times in milliseconds; positions from the start of the
    /// Segment's content.
    mutating func add(time: Int64, position: Int64) {
        if let last = cues.last, time - last.time < WebMCues.leastDistance { return }
        cues.append(Cue(time: time, position: position))
    }

    func append(to output: inout EBML) {
        output.master(.cues) { element in
            for cue in cues {
                element.master(.cuePoint) { point in
                    point.unsigned(.cueTime, UInt64(cue.time))
                    point.master(.cueTrackPositions) { place in
                        place.unsigned(.cueTrack, 1)
                        place.unsigned(.cueClusterPosition, UInt64(cue.position))
                    }
                }
            }
        }
    }
}
