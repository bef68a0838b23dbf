import CaptureCore
import RTP

/// Whatever feedback a peer sends: each report lies in the range that the packet states, and the estimator's rates stay
/// within their limits.
///
/// The first byte is the number of packets sent before each packet of feedback; the rest is cut into packets by the length
/// of each in its header, as in RTCP.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzTransportFeedback(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    guard let start, count > 1 else { return 0 }
    var rest = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
    var estimator = BandwidthEstimator(.init(maximum: 2_000_000))
    var sequence: UInt16 = 0
    var time = MediaTime(nanoseconds: 1_000_000_000)
    while rest.count >= 4 {
        let size = min(rest.count, (Int(rest[2]) << 8 | Int(rest[3])) * 4 + 4)
        let packet = UnsafeRawBufferPointer(rebasing: rest[..<size])
        rest = UnsafeRawBufferPointer(rebasing: rest[size...])
        for _ in 0..<start[0] {
            estimator.didSend(sequence, bytes: 1000, at: time, probe: 1)
            sequence &+= 1
        }
        time = time.advanced(by: .milliseconds(50))
        if let feedback = TransportFeedback(packet) {
            var reports = 0
            feedback.forEachReport { report in
                precondition(report.sequence == feedback.base &+ UInt16(reports), "reports are in order")
                reports += 1
            }
            precondition(reports == feedback.count, "as many reports as the packet states")
        }
        estimator.handleFeedback(packet, at: time)
        estimator.update(at: time)
        _ = estimator.takeProbe()
        precondition((50_000...2_000_000).contains(estimator.target), "a target within its limits")
    }
    return 0
}
