import CLibV4L2
import Testing
import VideoCapturing

@testable import CameraCapturer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The driver's sequence numbers and times, believed as far as they can be.
@Suite struct NumberingTests {
    /// Each tenth frame of the first hundred comes three late: ten gaps of three.
    @Test func countsGapsExactly() throws {
        let machine = StreamingMachine()
        machine.camera.set { state in
            var count: UInt32 = 0
            state.alter = { buffer in
                count += 1
                buffer.sequence = count + min(count, 100) / 10 * 3
            }
        }
        let run = try CaptureRun.running(machine, frames: 105)
        _ = try run.stop()
        #expect(run.dropped.source == 30)
        let notes = run.probe.notes
        #expect(Int(notes.last!.sequenceNumber - notes[0].sequenceNumber) + 1 == notes.count + 30)
    }

    @Test func believesAWrap() throws {
        let machine = StreamingMachine()
        machine.camera.set { state in
            var count = UInt32.max - 5
            state.alter = { buffer in
                count &+= 1
                buffer.sequence = count
            }
        }
        let run = try CaptureRun.running(machine, frames: 20)
        #expect(run.dropped.source == 0)
    }

    /// Drivers that do not count, or begin anew, lose nothing by that.
    @Test(arguments: [0, 1])
    func believesNoCounterThatStandsStill(step: UInt32) throws {
        let machine = StreamingMachine()
        machine.camera.set { state in
            var count: UInt32 = 0
            state.alter = { buffer in
                count += 1
                buffer.sequence = step * (count % 7)
            }
        }
        let run = try CaptureRun.running(machine, frames: 30)
        #expect(run.dropped.source == 0 && run.probe.disorder == nil)
    }

    enum BadTime: CaseIterable {
        case zero, future, old, standing, otherClock, negative, huge
    }

    @Test(arguments: BadTime.allCases)
    func replacesTimesThatCannotBe(bad: BadTime) throws {
        let machine = StreamingMachine()
        machine.camera.set { state in
            var count = 0
            var standing: timeval?
            state.alter = { buffer in
                count += 1
                if standing == nil { standing = buffer.timestamp }
                // The first is good.
                guard count > 1 else { return }
                switch bad {
                case .zero: buffer.timestamp = timeval(tv_sec: 0, tv_usec: 0)
                case .future: buffer.timestamp.tv_sec += 3600
                case .old: buffer.timestamp.tv_sec -= 11
                case .standing: buffer.timestamp = standing!
                case .otherClock: buffer.flags &= ~UInt32(V4L2_BUF_FLAG_TIMESTAMP_MASK)
                case .negative: buffer.timestamp = timeval(tv_sec: -1, tv_usec: -1)
                case .huge: buffer.timestamp = timeval(tv_sec: .max, tv_usec: .max)
                }
            }
        }
        let run = try CaptureRun.running(machine, frames: 20)
        #expect(try run.drainAndStop())
        let notes = run.probe.notes
        #expect(run.statistics.timestampsReplaced == notes.count - 1)
        #expect(run.probe.disorder == nil)
        // Of arrival, and of unknown delay.
        #expect(notes.dropFirst().allSatisfy { $0.delay == nil && $0.arrival - $0.timestamp < .seconds(5) })
        #expect(notes[0].delay != nil)
    }

    /// A driver's clock that goes back for one frame is believed again after it.
    @Test func replacesOneTimeOnly() throws {
        let machine = StreamingMachine()
        machine.camera.set { state in
            var count = 0
            state.alter = { buffer in
                count += 1
                if count == 10 { buffer.timestamp.tv_sec -= 1 }
            }
        }
        let run = try CaptureRun.running(machine, frames: 30)
        // The frame after it lies before the time of its arrival where the capture was late.
        #expect(run.statistics.timestampsReplaced >= 1 && run.statistics.timestampsReplaced < 10)
        #expect(run.probe.disorder == nil)
    }
}
