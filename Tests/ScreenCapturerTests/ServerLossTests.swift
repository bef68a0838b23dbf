import ScreenCapturer
import TestTools
import Testing
import VideoCapturing
import XTestTools

import struct TestTools.Stopwatch

extension ScreenCapturerTests {
    /// The X server goes, and comes back.
    @Suite struct ServerLossTests {
        private let screen: VirtualScreen

        init() throws { screen = try VirtualScreen(width: 160, height: 100) }

        @Test(.timeLimit(.minutes(10))) func waitsForTheServer() throws {
            let shown = Picture(width: 160, height: 100, seed: 51)
            var client: XClient? = try XClient(screen)
            try XWindow(try #require(client), shown.bounds).draw(shown)
            let run = try ScreenRun.running(screen)
            #expect(try run.probe.fault(shown) == nil)
            let descriptors = openDescriptors()

            for round in 1...2 {
                client = nil
                screen.crash()
                #expect(run.waitForState { _ in run.isInterrupted }, "round \(round)")
                let count = run.settle()
                #expect(run.capture.isCaptureStarted)

                try screen.restart()
                let newClient = try XClient(screen)
                client = newClient
                let other = Picture(width: 160, height: 100, seed: UInt32(51 + round))
                try XWindow(newClient, other.bounds).draw(other)
                #expect(run.waitForState { $0 == .running }, "round \(round)")
                #expect(try run.probe.fault(other) == nil, "round \(round)")
                #expect(run.probe.shots[count].frame.damage == nil)
                #expect(run.capture.screenStatistics.reconnects == UInt64(round))
            }
            #expect(run.probe.disorder == nil)
            #expect(run.probe.shots.allSatisfy { $0.isIntact })
            #expect(run.capture.statistics.interruptions == 2)
            #expect(run.events.withLock { $0 } == [.serverLost, .serverReturned, .serverLost, .serverReturned])
            #expect(openDescriptors() <= descriptors)
        }

        @Test func stopsWhileTheServerIsGone() throws {
            let run = try ScreenRun.running(screen)
            screen.crash()
            #expect(run.waitForState { _ in run.isInterrupted })
            #expect(try Stopwatch.time { try run.capture.stopCapture() } < .milliseconds(300))
            #expect(run.capture.state == .stopped(.user))
            // A start without a server is refused or waits; with one it works.
            try? run.capture.startCapture()
            try? run.capture.stopCapture()
            try screen.restart()
            let count = run.probe.count
            #expect(eventually { (try? run.start()) != nil })
            #expect(run.probe.wait { $0.count > count })
            #expect(run.probe.disorder == nil)
        }

        /// While a stopped capture holds the connection.
        @Test func startsAgainAfterTheServerCameBack() throws {
            let run = try ScreenRun.running(screen)
            try run.capture.stopCapture()
            screen.crash()
            try screen.restart()
            let count = run.probe.count
            #expect(eventually { (try? run.start()) != nil })
            #expect(run.probe.wait { $0.count > count })
        }

        @Test func endsWhenNotToldToWait() throws {
            let run = try ScreenRun.running(screen) { $0.reconnects = false }
            screen.crash()
            #expect(run.waitForState { if case .stopped(.deviceLost) = $0 { true } else { false } })
        }

        /// A window of a server that has gone has gone with it, and its number may be another's afterwards.
        @Test func endsWithTheWindowsServer() throws {
            var client: XClient? = try XClient(screen)
            let id = try XWindow(try #require(client), PixelRect(x: 0, y: 0, width: 60, height: 40)).id
            let run = try ScreenRun.running(screen, .window(id))
            client = nil
            screen.crash()
            #expect(run.waitForState { $0 != .running })
            try screen.restart()
            #expect(run.waitForState { if case .stopped(.deviceLost) = $0 { true } else { false } })
        }
    }
}
