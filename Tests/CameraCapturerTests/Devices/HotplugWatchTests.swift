import TestTools
import Testing

@testable import CameraCapturer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite struct HotplugWatchTests {
    private let machine = FakeMachine()

    private func isReadable(_ watch: HotplugWatch) -> Bool {
        var descriptors = [pollfd(fd: watch.descriptor, events: Int16(POLLIN), revents: 0)]
        return poll(&descriptors, 1, 0) == 1
    }

    @Test func tellsOfNodesThatComeGoAndChange() throws {
        let watch = try #require(HotplugWatch(directory: machine.directory))
        #expect(!isReadable(watch))
        #expect(!watch.drain())
        machine.write("/dev/video0", "")
        #expect(isReadable(watch))
        #expect(watch.drain())
        #expect(!isReadable(watch))
        chmod(machine.path("video0"), 0o660)
        #expect(watch.drain())
        rename(machine.path("video0"), machine.path("video1"))
        #expect(watch.drain())
        unlink(machine.path("video1"))
        #expect(watch.drain())
        #expect(!watch.drain())
    }

    @Test func isNotWokenForLongByOtherDevices() throws {
        let watch = try #require(HotplugWatch(directory: machine.directory))
        for number in 0..<500 { machine.write("/dev/tty\(number)", "") }
        #expect(isReadable(watch))
        #expect(!watch.drain())
        #expect(!isReadable(watch))
    }

    @Test func followsTheFoldersOfLinksWhenTheyComeAndGo() throws {
        let watch = try #require(HotplugWatch(directory: machine.directory))
        for _ in 0..<3 {
            machine.makeFolder("/dev/v4l/by-id")
            #expect(watch.drain())
            machine.link("/dev/v4l/by-id/usb-camera", to: "../../video0")
            #expect(watch.drain())
            removeTree(machine.path("v4l"))
            #expect(watch.drain())
            #expect(!isReadable(watch))
        }
    }

    @Test func isNotThereWithoutAFolderToWatch() {
        removeTree(machine.root + "/dev")
        #expect(HotplugWatch(directory: machine.directory) == nil)
    }
}
