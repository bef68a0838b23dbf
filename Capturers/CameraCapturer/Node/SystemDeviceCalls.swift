import CLibV4L2
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The machine's own devices, through libv4l2 with its conversions switched off.
///
/// libv4l2 brings the plug-ins of vendors. It knows single-planar nodes only, and 16 of them at most; it passes
/// calls for all others on to the kernel as they are.
///
/// A node that no plug-in takes is given back by libv4l2 at once: without conversions all that it does is to look each
/// call over and to pass it on, for some 200 instructions with each frame.
///
/// It tells people on standard error what it is refused while it takes a node over, unless it is given a file for that;
/// then it writes each call there, which costs more than all else that is done with a frame in memory of the driver. So
/// it is given no file, and only nodes that will not refuse.
struct SystemDeviceCalls: DeviceCalls {
    /// Whether any node of this process is a plug-in's. Then libv4l2 is to be asked, which knows its own from others.
    private static let hasPlugIn = Atomic<Bool>(false)

    func open(_ path: String) -> Int32 {
        let descriptor = clibv4l2_kernel_open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return -errno }
        guard SystemDeviceCalls.isForLibrary(descriptor) else { return descriptor }
        let offered = clibv4l2_duplicate(descriptor)
        guard offered >= 0, v4l2_fd_open(offered, V4L2_DISABLE_CONVERSION) >= 0, clibv4l2_has_plugin() != 0 else {
            if offered >= 0 { v4l2_close(offered) }
            return descriptor
        }
        SystemDeviceCalls.hasPlugIn.store(true, ordering: .relaxed)
        v4l2_close(descriptor)
        return offered
    }

    /// Whether libv4l2 knows this kind of node, and will not be refused what it asks of it.
    private static func isForLibrary(_ descriptor: Int32) -> Bool {
        var capability = v4l2_capability()
        guard clibv4l2_kernel_ioctl(descriptor, clibv4l2_QUERYCAP, &capability) == 0,
            capability.device_caps & UInt32(V4L2_CAP_VIDEO_CAPTURE) != 0
        else { return false }
        var format = v4l2_format()
        format.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
        return clibv4l2_kernel_ioctl(descriptor, clibv4l2_G_FMT, &format) == 0
    }

    func close(_ descriptor: Int32) { v4l2_close(descriptor) }

    func ioctl(_ descriptor: Int32, _ request: UInt, _ argument: UnsafeMutableRawPointer) -> Int32 {
        let result =
            SystemDeviceCalls.hasPlugIn.load(ordering: .relaxed)
            ? clibv4l2_ioctl(descriptor, request, argument)
            : clibv4l2_kernel_ioctl(descriptor, request, argument)
        return result < 0 ? -errno : result
    }

    /// Not for a plug-in's node: what it does while it waits is its own affair.
    func setWaiting(_ descriptor: Int32, _ isWaiting: Bool) -> Bool {
        if isWaiting, SystemDeviceCalls.hasPlugIn.load(ordering: .relaxed) { return false }
        let flags = fcntl(descriptor, F_GETFL)
        return flags >= 0 && fcntl(descriptor, F_SETFL, isWaiting ? flags & ~O_NONBLOCK : flags | O_NONBLOCK) >= 0
    }

    func map(
        _ descriptor: Int32, byteCount: Int, offset: UInt32
    ) -> (address: UnsafeMutableRawPointer?, error: Int32) {
        let address = v4l2_mmap(nil, byteCount, PROT_READ, MAP_SHARED, descriptor, Int64(offset))
        guard let address, address != MAP_FAILED else { return (nil, errno) }
        return (address, 0)
    }

    /// Short of memory the mapping stays as it is, and holds the device until it is let go.
    func detach(_ address: UnsafeMutableRawPointer, byteCount: Int) { _ = clibv4l2_detach(address, byteCount) }

    func unmap(_ address: UnsafeMutableRawPointer, byteCount: Int) { v4l2_munmap(address, byteCount) }
}
