/// The bitrate that the receivers of one encoder share, and the temporal layers that each gets.
///
/// The receivers whose networks are about the same get all layers, at what the slowest of them can take; a clearly slower one
/// gets fewer frames rather than slow the others down. Only where it cannot take the base layer alone the bitrate follows it.
/// A receiver keeps what it had within some limits, so that nothing swings. A value without clock or threads.
package struct LayerAllocation {
    private struct Member {
        let name: String
        /// What the way to it can take; nil while that is not known.
        var bitrate: Int?
        /// Whether it counts among those that get all layers.
        var isFast = true
        var layer: Int
    }

    /// The bitrate of the encoder, in bits per second.
    package private(set) var bitrate: Int

    private let maximumBitrate: Int
    /// The part of the bitrate that each layer and those below it have.
    private let shares: [Double]
    private var members: [Member] = []

    /// Of the fastest receiver's bitrate: what one that was slow must have to count as fast, and what one that was fast must keep.
    private static let limits = (rise: 0.8, fall: 0.5)
    /// Of a layer's bitrate: what a receiver must have to get it, and what it must keep.
    private static let needs = (rise: 1.1, fall: 0.95)

    /// - Parameters:
    ///   - maximumBitrate: in bits per second.
    ///   - layerCount: the temporal layers of the encoder, 1 to 3.
    package init(maximumBitrate: Int, layerCount: Int) {
        self.maximumBitrate = maximumBitrate
        bitrate = maximumBitrate
        shares =
            switch layerCount {
            case 2: [0.6, 1]
            case 3: [0.4, 0.6, 1]
            default: [1]
            }
    }

    /// Changes the receivers; those that stay keep their state.
    package mutating func setReceivers(_ names: [String]) {
        members = names.map { name in
            members.first { $0.name == name } ?? Member(name: name, layer: shares.count - 1)
        }
        update()
    }

    /// Sets what the way to a receiver can take, in bits per second; ignored for one that is not there.
    package mutating func setBitrate(_ bitrate: Int, of name: String) {
        guard let index = members.firstIndex(where: { $0.name == name }) else { return }
        members[index].bitrate = bitrate
        update()
    }

    /// The highest layer that a receiver gets.
    package func layer(of name: String) -> Int { members.first { $0.name == name }?.layer ?? shares.count - 1 }

    private mutating func update() {
        let known = members.compactMap(\.bitrate)
        guard let fastest = known.max(), let slowest = known.min() else {
            bitrate = maximumBitrate
            return
        }
        var shared = fastest
        for index in members.indices {
            guard let own = members[index].bitrate else { continue }
            let limit = members[index].isFast ? LayerAllocation.limits.fall : LayerAllocation.limits.rise
            members[index].isFast = Double(own) >= limit * Double(fastest)
            if members[index].isFast { shared = min(shared, own) }
        }
        bitrate = min(maximumBitrate, shared, Int(Double(slowest) / shares[0]))
        for index in members.indices {
            guard let own = members[index].bitrate else { continue }
            members[index].layer = members[index].isFast ? shares.count - 1 : layer(for: own, now: members[index].layer)
        }
    }

    /// The highest layer that a bitrate is enough for.
    private func layer(for own: Int, now: Int) -> Int {
        shares.indices.last { layer in
            let need = layer > now ? LayerAllocation.needs.rise : LayerAllocation.needs.fall
            return layer == 0 || Double(own) >= need * shares[layer] * Double(bitrate)
        } ?? 0
    }
}
