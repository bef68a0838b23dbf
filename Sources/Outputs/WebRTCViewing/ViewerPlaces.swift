import VideoCapturing

/// What a viewer costs, from which follows how many a machine can serve.
struct ViewerCost {
    /// The files and sockets of a viewer: ICE's socket, and those of libnice and GLib.
    static let descriptors = 3
    /// Some 0.2 MiB (docs/benchmarks.md), and half as much again for packets that wait.
    private static let memory = 300 << 10

    /// In bits per second.
    let bitrate: Int

    /// The seconds of a processor that a viewer takes in each second: twice of what docs/benchmarks.md has of a fast server, since
    /// many are slower. A part is for frames and reports, and one for the bits.
    private var processorTime: Double { 0.0015 + 0.4e-9 * Double(bitrate) }

    /// How many viewers half of the processors, an eighth of the memory and half of the free descriptors serve.
    func viewers(processors: Int, memory: Int, descriptors: Int) -> Int {
        max(
            4,
            min(
                Int(Double(processors) / 2 / processorTime), memory / 8 / ViewerCost.memory,
                descriptors / 2 / ViewerCost.descriptors))
    }
}

/// The places of viewers: a total, and a maximum for each address.
///
/// A viewer that connects keeps its place. One that was answered and has not connected within ``connectTime`` gives it up for
/// another that asks: offers alone, which cost their sender nothing, keep no viewer out. A value without clock or threads.
struct ViewerPlaces {
    private struct Place {
        /// Nil for a program on this machine, which may stand for many, as a proxy does.
        let address: String?
        /// When its offer was answered; nil before.
        var answered: MediaTime?
        var isConnected = false
    }

    enum Admission: Hashable {
        /// - displaced: whose place it has got.
        case admitted(displaced: String?)
        case refused(limit: Int, isOfAddress: Bool)
    }

    var maximum: Int
    private var places: [String: Place] = [:]

    /// Viewers in the same network connect within a fraction.
    static let connectTime = Duration.seconds(2)

    init(maximum: Int) { self.maximum = maximum }

    /// The maximum number of viewers from one address.
    var maximumPerAddress: Int { max(4, maximum / 4) }

    /// The number of viewers that are connected.
    var connectedCount: Int { places.values.count { $0.isConnected } }

    /// Gives a place to a viewer whose offer will be answered.
    mutating func enter(_ name: String, from address: String?, at now: MediaTime) -> Admission {
        let ofAddress = address.map { address in places.filter { $0.value.address == address } } ?? [:]
        let isOfAddress = ofAddress.count >= maximumPerAddress
        var displaced: String?
        if isOfAddress || places.count >= maximum {
            displaced =
                (isOfAddress ? ofAddress : places).filter { _, place in
                    !place.isConnected && place.answered.map { now - $0 >= ViewerPlaces.connectTime } == true
                }.min { ($0.value.answered ?? now) < ($1.value.answered ?? now) }?.key
            guard let displaced else {
                return .refused(limit: isOfAddress ? maximumPerAddress : maximum, isOfAddress: isOfAddress)
            }
            places[displaced] = nil
        }
        places[name] = Place(address: address)
        return .admitted(displaced: displaced)
    }

    mutating func didAnswer(_ name: String, at now: MediaTime) { places[name]?.answered = now }

    mutating func didConnect(_ name: String) { places[name]?.isConnected = true }

    mutating func leave(_ name: String) { places[name] = nil }
}
