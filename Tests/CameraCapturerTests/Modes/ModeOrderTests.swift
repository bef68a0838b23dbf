import Testing
import VideoCapturing

@testable import CameraCapturer

@Suite struct ModeOrderTests {
    /// The first key stated once more, in floating point.
    private func bucket(_ mode: CameraMode, _ request: CameraMode.Request) -> Int {
        guard let rate = mode.rate else { return 3 }
        let part = rate.framesPerSecond / request.rate.framesPerSecond
        return part >= 0.99 ? 0 : part >= 0.8 ? 1 : part >= 0.5 ? 2 : 3
    }

    @Test func choosesNoneThatIsWorseThanAnother() throws {
        var random = TestRandom(seed: 1)
        var found = 0
        for _ in 0..<400 {
            let camera = random.camera()
            let size = PixelSize(
                width: .random(in: 1...2000, using: &random), height: .random(in: 1...2000, using: &random))
            let rate = FrameRate(.random(in: 1...120, using: &random), per: .random(in: 1...3, using: &random))!
            guard let ranking = try? camera.ranking("\(size)", at: rate) else { continue }
            found += 1
            let request = ranking.request
            let floor = min(15, rate.framesPerSecond)
            let best = ranking.modes[0]
            for mode in ranking.modes.dropFirst() {
                let isSmaller = mode.width < size.width || mode.height < size.height
                if best.size == size, isSmaller, best.rate.map({ $0.framesPerSecond >= floor }) ?? true { continue }
                let exactKeeps = ranking.modes.contains {
                    $0.size == size && $0.rate.map { $0.framesPerSecond >= floor } ?? true
                }
                if isSmaller, exactKeeps { continue }
                #expect(bucket(best, request) <= bucket(mode, request), "\(best) before \(mode) for \(request)")
            }
            for (left, right) in zip(ranking.modes, ranking.modes.dropFirst()) where left.size == right.size {
                let (first, second) = (bucket(left, request), bucket(right, request))
                #expect(first < second || (first == second && left.cost <= right.cost))
            }
        }
        #expect(found > 100)
    }

    /// Extreme numbers anywhere: no trap, no endless loop, no size or rate that cannot be.
    @Test func survivesAnyLists() throws {
        var random = TestRandom(seed: 2)
        for _ in 0..<400 {
            let camera = random.camera()
            let desired = random.size()
            let rate = random.interval().frameRate ?? 30
            var source = camera
            let request = CameraMode.Request(
                size: desired, rate: rate, policy: Bool.random(using: &random) ? .sizeFirst : .frameRateFirst)
            guard
                let ranking = try? ModeSearch.candidates(from: &source, request: request, isConvertible: { _ in false })
            else { continue }
            for mode in ranking.modes {
                #expect(mode.size.isValid)
                #expect(mode.bytesPerSecond > 0)
                let decision = CameraMode.Decision(requested: request, negotiated: mode, rejected: [])
                #expect(decision.plan.size.width <= mode.width && decision.plan.size.height <= mode.height)
                #expect(!decision.description.isEmpty)
            }
        }
    }

    @Test func sortsTheSameWhateverTheOrderBefore() throws {
        let ranking = try RecordedCamera.uvcWebcam.ranking("352x288", at: 30)
        var random = TestRandom(seed: 3)
        for _ in 0..<20 {
            let shuffled = ranking.entries.shuffled(using: &random)
            #expect(ModeRanking.ordered(shuffled, for: ranking.request) == ranking.entries)
        }
    }

    /// 16 of 30 fps in the exact size, more in a smaller and in a larger one: the larger, the exact, the smaller.
    @Test func keepsOneOrderWithLargerAndSmallerSizes() throws {
        var camera = RecordedCamera()
        camera.add(
            .yuyv,
            .discrete([
                RecordedCamera.Size(size: PixelSize("320x240"), intervals: .rates(30)),
                RecordedCamera.Size(size: PixelSize("640x480"), intervals: .rates(16)),
                RecordedCamera.Size(size: PixelSize("1280x960"), intervals: .rates(25)),
            ]))
        let sizes = try camera.ranking("640x480", at: 30).modes.map(\.width)
        #expect(sizes == [1280, 640, 320])
    }

    @Test(
        arguments: [
            (14, "320x240"), (15, "640x480"), (16, "640x480"),
        ] as [(UInt32, String)])
    func letsASmallerSizeWinOnlyBelowFifteen(rate: UInt32, best: String) throws {
        var camera = RecordedCamera()
        camera.add(
            .yuyv,
            .discrete([
                RecordedCamera.Size(size: PixelSize("320x240"), intervals: .rates(30)),
                RecordedCamera.Size(size: PixelSize("640x480"), intervals: .rates(rate)),
            ]))
        #expect(try camera.ranking("640x480", at: 30).modes[0].size == PixelSize(best))
    }

    /// A list without an end costs a bounded number of questions.
    @Test func asksABoundedNumberOfQuestions() throws {
        var liar = RecordedCamera.liar
        _ = try ModeSearch.candidates(
            from: &liar, request: CameraMode.Request(size: PixelSize("640x480"), rate: 30),
            isConvertible: { _ in false })
        #expect(liar.questions < 30)
    }
}
