import CLibV4L2
import Testing
import VideoCapturing

@testable import CameraCapturer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite struct DeviceHolderTests {
    /// A terminal of its own stands for a camera: a device with a number that only this test has.
    @Test func namesTheProgramThatHasTheDevice() throws {
        let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(terminal >= 0)
        defer { close(terminal) }
        var (lock, number): (Int32, UInt32) = (0, 0)
        let (setLock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)  // TIOCSPTLCK, TIOCGPTN
        try #require(clibv4l2_kernel_ioctl(terminal, setLock, &lock) == 0)
        try #require(clibv4l2_kernel_ioctl(terminal, getNumber, &number) == 0)
        let path = "/dev/pts/\(number)"
        #expect(CameraDevice.Holder.find(path) == nil)
        let other = CameraDevice.Holder.busyError(path: path, errno: EBUSY)
        #expect(other.code == .deviceBusy)
        #expect(other.message.contains("another user's program"))

        let mine = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        #expect(CameraDevice.Holder.find(path)?.isThisProgram == true)
        #expect(CameraDevice.Holder.busyError(path: path, errno: EBUSY).message.contains("this program itself"))

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, mine, 9)
        var child: pid_t = 0
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sleep"), strdup("30"), nil]
        defer { for argument in arguments { free(argument) } }
        try #require(posix_spawnp(&child, "sleep", &actions, nil, &arguments, environ) == 0)
        posix_spawn_file_actions_destroy(&actions)
        defer {
            kill(child, SIGKILL)
            waitpid(child, nil, 0)
        }
        close(mine)
        #expect(CameraDevice.Holder.find(path)?.description == "sleep (pid \(child))")
        #expect(
            CameraDevice.Holder.busyError(path: path, errno: EBUSY).message
                == "The camera is in use by sleep (pid \(child)); close it, or choose another camera.")
    }

    @Test func findsNobodyAtWhatIsNoDevice() {
        #expect(CameraDevice.Holder.all("/etc/passwd").isEmpty)
        #expect(CameraDevice.Holder.all("/nowhere").isEmpty)
    }
}
