import CaptureCore
import Testing

@testable import WebRTCViewing

/// Who may view when more ask than can.
@Suite struct ViewerPlacesTests {
    private let start = MediaTime(nanoseconds: 1_000_000_000)

    /// Offers of an address that never connects, each answered at once.
    private func flood(_ places: inout ViewerPlaces, _ count: Int, from address: String, at now: MediaTime) -> Int {
        (0..<count).count { number in
            let name = "\(address)-\(number)-\(now.nanoseconds)"
            guard case .admitted = places.enter(name, from: address, at: now) else { return false }
            places.didAnswer(name, at: now)
            return true
        }
    }

    @Test func `An address has a part of the places`() {
        var places = ViewerPlaces(maximum: 20)
        #expect(flood(&places, 100, from: "a", at: start) == 5)
        #expect(places.enter("x", from: "a", at: start) == .refused(limit: 5, isOfAddress: true))
        #expect(places.enter("b", from: "b", at: start) == .admitted(displaced: nil))
        // A proxy on this machine stands for many.
        for number in 0..<14 {
            #expect(places.enter("p\(number)", from: nil, at: start) == .admitted(displaced: nil))
        }
        #expect(places.enter("p", from: nil, at: start) == .refused(limit: 20, isOfAddress: false))
        #expect(ViewerPlaces(maximum: 1).maximumPerAddress == 4 && ViewerPlaces(maximum: 100).maximumPerAddress == 25)
    }

    @Test func `Offers alone keep no viewer out`() {
        var places = ViewerPlaces(maximum: 20)
        for address in 0..<4 { #expect(flood(&places, 5, from: "f\(address)", at: start) == 5) }
        // They may be about to connect.
        #expect(places.enter("v", from: "v", at: start) == .refused(limit: 20, isOfAddress: false))
        let later = start.advanced(by: ViewerPlaces.connectTime)
        guard case .admitted(let displaced?) = places.enter("v", from: "v", at: later) else {
            Issue.record("kept out")
            return
        }
        #expect(displaced.hasPrefix("f"))
        places.didAnswer("v", at: later)
        places.didConnect("v")
        #expect(places.connectedCount == 1)
        // The flood displaces itself, and not the viewer.
        var now = later
        for _ in 0..<10 {
            now = now.advanced(by: ViewerPlaces.connectTime)
            for address in 0..<4 { _ = flood(&places, 20, from: "f\(address)", at: now) }
        }
        #expect(places.connectedCount == 1)
    }

    @Test func `One that reloads its page gets a place at once`() {
        var places = ViewerPlaces(maximum: 4)
        #expect(flood(&places, 4, from: "a", at: start) == 4)
        let later = start.advanced(by: .seconds(3))
        guard case .admitted(_?) = places.enter("again", from: "a", at: later) else {
            Issue.record("kept out")
            return
        }
        // Offers that are being answered are not displaced: nothing is known of them yet.
        places.leave("again")
        for name in ["1", "2", "3", "4"] { _ = places.enter(name, from: "b", at: later) }
        #expect(
            places.enter("5", from: "b", at: later.advanced(by: .seconds(60))) == .refused(limit: 4, isOfAddress: true))
    }

    @Test func `A machine serves as many as its processors, memory and files allow`() {
        let (hall, film) = (ViewerCost(bitrate: 600_000), ViewerCost(bitrate: 2_600_000))
        func viewers(_ cost: ViewerCost, processors: Int = 2, memory: Int = 8 << 30, descriptors: Int = 4096) -> Int {
            cost.viewers(processors: processors, memory: memory, descriptors: descriptors)
        }
        #expect(viewers(hall) >= 500 && viewers(film) >= 200)
        #expect(viewers(film, processors: 4) == 2 * viewers(film) || viewers(film, processors: 4) == 4096 / 6)
        #expect(viewers(film, memory: 256 << 20) * (300 << 10) <= 32 << 20)
        #expect(viewers(film, descriptors: 300) == 50)
        #expect(viewers(film, processors: 1, memory: 0, descriptors: 0) == 4)
    }
}
