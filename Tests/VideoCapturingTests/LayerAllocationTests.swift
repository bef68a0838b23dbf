import Testing

@testable import VideoCapturing

@Suite struct LayerAllocationTests {
    private func allocation(_ bitrates: [String: Int], layers: Int = 3) -> LayerAllocation {
        var allocation = LayerAllocation(maximumBitrate: 2_500_000, layerCount: layers)
        allocation.setReceivers(bitrates.keys.sorted())
        for (name, bitrate) in bitrates.sorted(by: { $0.key < $1.key }) { allocation.setBitrate(bitrate, of: name) }
        return allocation
    }

    private func layers(_ allocation: LayerAllocation, _ names: [String] = ["a", "b", "c"]) -> [Int] {
        names.map { allocation.layer(of: $0) }
    }

    @Test func `Viewers with about the same network get all layers`() {
        let allocation = allocation(["a": 2_400_000, "b": 1_900_000, "c": 2_000_000])
        #expect(allocation.bitrate == 1_900_000)
        #expect(layers(allocation) == [2, 2, 2])
        #expect(self.allocation(["a": 9_000_000]).bitrate == 2_500_000)
        #expect(self.allocation([:]).bitrate == 2_500_000)
    }

    @Test func `A slow viewer gets the layers that it can take`() {
        let allocation = allocation(["a": 2_500_000, "b": 1_100_000, "c": 2_500_000])
        #expect(allocation.bitrate == 2_500_000, "it slows no other")
        #expect(layers(allocation) == [2, 0, 2])
        // Below the base layer the others follow.
        let slow = self.allocation(["a": 2_500_000, "b": 300_000])
        #expect(slow.bitrate == 750_000 && layers(slow, ["a", "b"]) == [2, 0])
    }

    @Test func `Without layers the slowest decides`() {
        let allocation = allocation(["a": 2_500_000, "b": 1_000_000], layers: 1)
        #expect(allocation.bitrate == 1_000_000 && layers(allocation, ["a", "b"]) == [0, 0])
    }

    @Test func `What a viewer has it keeps within limits`() {
        var allocation = allocation(["a": 2_000_000, "b": 900_000])
        #expect(layers(allocation, ["a", "b"]) == [2, 0])
        // Enough for layer 1, but not with something to spare; then with it; then no longer quite.
        allocation.setBitrate(1_250_000, of: "b")
        #expect(allocation.layer(of: "b") == 0)
        allocation.setBitrate(1_350_000, of: "b")
        #expect(allocation.layer(of: "b") == 1)
        allocation.setBitrate(1_160_000, of: "b")
        #expect(allocation.layer(of: "b") == 1)
        allocation.setBitrate(1_000_000, of: "b")
        #expect(allocation.layer(of: "b") == 0)
        // It is one of the fast ones from 80 % on, and until half.
        allocation.setBitrate(1_590_000, of: "b")
        #expect(allocation.layer(of: "b") == 1 && allocation.bitrate == 2_000_000)
        allocation.setBitrate(1_610_000, of: "b")
        #expect(allocation.layer(of: "b") == 2 && allocation.bitrate == 1_610_000)
        allocation.setBitrate(1_010_000, of: "b")
        #expect(allocation.layer(of: "b") == 2 && allocation.bitrate == 1_010_000)
        allocation.setBitrate(990_000, of: "b")
        #expect(allocation.layer(of: "b") == 0 && allocation.bitrate == 2_000_000)
        // Those that leave count no more.
        allocation.setReceivers(["b"])
        #expect(allocation.bitrate == 990_000 && allocation.layer(of: "b") == 2)
    }

    @Test func `A viewer of which nothing is known yet changes nothing`() {
        var allocation = allocation(["a": 2_000_000])
        allocation.setReceivers(["a", "b"])
        #expect(allocation.bitrate == 2_000_000)
        allocation.setBitrate(5, of: "none")
        #expect(allocation.bitrate == 2_000_000)
        // As it begins.
        allocation.setBitrate(950_000, of: "b")
        #expect(allocation.bitrate == 2_000_000 && allocation.layer(of: "b") == 0)
    }
}
