import VideoCapturing

/// Why a connection gives nothing more.
enum StreamLoss: Error {
    /// The server has ended the stream in good order.
    case ended
    /// Nothing has come for longer than is allowed.
    case stalled(CaptureError)
    /// Anything else.
    case failed(CaptureError)

    /// Nil for an end in good order.
    var error: CaptureError? {
        switch self {
        case .ended: nil
        case .stalled(let error), .failed(let error): error
        }
    }

    /// A sentence for people.
    var reason: String { error?.message ?? "The server has ended the stream." }
}

/// The time between a loss and the first picture after it.
struct StreamOutage {
    /// Counts from 1.
    var attempt = 1
    /// When it is made, by the capture's clock.
    var due: MediaTime
}
