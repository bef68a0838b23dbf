import NIOCore
import NIOPosix
import Testing

@testable import MJPEGServer

@Suite struct LoopPackingTests {
    @Test(arguments: 1...4) func fewShareOneLoopAndManyAreSpread(_ loopCount: Int) throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: loopCount)
        defer { try? group.syncShutdownGracefully() }
        let loops = Array(group.makeIterator())
        let packing = LoopPacking(group)
        #expect(packing.first === loops[0])
        var counts = [Int](repeating: 0, count: loopCount)
        /// What the group hands out is where the next connection goes.
        func connect() throws {
            let next = group.next()
            let index = try #require(loops.firstIndex { $0 === next })
            counts[index] += 1
            packing.change(index, by: 1)
        }
        for number in 1...(loopCount * LoopPacking.fewConnections) {
            try connect()
            #expect(counts.count { $0 > 0 } == (number + LoopPacking.fewConnections - 1) / LoopPacking.fewConnections)
        }
        for _ in 0..<(loopCount * 10) { try connect() }
        #expect(Set(counts) == [LoopPacking.fewConnections + 10])
        // Who goes leaves room on his loop.
        for _ in 0..<12 { packing.change(loopCount - 1, by: -1) }
        counts[loopCount - 1] -= 12
        let before = counts[loopCount - 1]
        try connect()
        #expect(counts[loopCount - 1] == before + 1)
    }
}
