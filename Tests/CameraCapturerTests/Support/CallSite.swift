import CLibV4L2
import VideoCapturing

@testable import CameraCapturer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A system call that a driver may refuse.
enum CallSite: String, CaseIterable, CustomStringConvertible {
    case open, poll
    case queryCapabilities = "QUERYCAP"
    case enumerateFormats = "ENUM_FMT"
    case enumerateSizes = "ENUM_FRAMESIZES"
    case enumerateIntervals = "ENUM_FRAMEINTERVALS"
    case getFormat = "G_FMT"
    case setFormat = "S_FMT"
    case setParameters = "S_PARM"
    case getParameters = "G_PARM"
    case requestBuffers = "REQBUFS"
    case queryBuffer = "QUERYBUF"
    case queueBuffer = "QBUF"
    case streamOn = "STREAMON"
    case dequeueBuffer = "DQBUF"
    case streamOff = "STREAMOFF"
    case map = "mmap"

    static let numbers: [Int32] = [EINTR, EAGAIN, EIO, ENOSPC, EBUSY, ENODEV]
    /// Those that are made when a stream is begun anew on the open node.
    static let ofRestart: [CallSite] = [.requestBuffers, .queryBuffer, .map, .queueBuffer, .streamOn, .streamOff]
    /// Those that are made when the camera is opened.
    static let ofOpening: [CallSite] = [
        .open, .queryCapabilities, .enumerateFormats, .enumerateSizes, .enumerateIntervals, .getFormat, .setFormat,
        .setParameters, .getParameters, .requestBuffers,
        .queryBuffer, .map, .streamOn,
    ]
    /// Those that are made for each frame.
    static let ofStreaming: [CallSite] = [.queueBuffer, .dequeueBuffer, .poll]

    var description: String { rawValue }

    var request: UInt {
        switch self {
        case .open: FakeCamera.openCall
        case .map: FakeCamera.mapCall
        case .poll: FakeCamera.pollCall
        case .queryCapabilities: clibv4l2_QUERYCAP
        case .enumerateFormats: clibv4l2_ENUM_FMT
        case .enumerateSizes: clibv4l2_ENUM_FRAMESIZES
        case .enumerateIntervals: clibv4l2_ENUM_FRAMEINTERVALS
        case .getFormat: clibv4l2_G_FMT
        case .setFormat: clibv4l2_S_FMT
        case .setParameters: clibv4l2_S_PARM
        case .getParameters: clibv4l2_G_PARM
        case .requestBuffers: clibv4l2_REQBUFS
        case .queryBuffer: clibv4l2_QUERYBUF
        case .queueBuffer: clibv4l2_QBUF
        case .streamOn: clibv4l2_STREAMON
        case .dequeueBuffer: clibv4l2_DQBUF
        case .streamOff: clibv4l2_STREAMOFF
        }
    }
}

/// One refusal to try: where, with which number, and how many calls in turn.
struct Fault: Sendable, CustomStringConvertible {
    var site: CallSite
    var number: Int32
    var times: Int

    var refusal: FakeCamera.Refusal { .init(request: site.request, times: times, number: number) }
    var description: String {
        "\(site) refused with \(String(cString: strerror(number)))\(times == 1 ? "" : times == .max ? " for ever" : " \(times) times")"
    }

    static func all(_ sites: [CallSite], times: Int = 1) -> [Fault] {
        sites.flatMap { site in CallSite.numbers.map { Fault(site: site, number: $0, times: times) } }
    }
}
