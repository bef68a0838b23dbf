import CLibV4L2
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The machine's devices, through libv4l2 with its conversions switched off where a vendor's plug-in needs it.
///
/// libv4l2 loads the plug-ins of vendors. It supports single-planar nodes only, and 16 of them at most; it forwards the
/// calls for all others to the kernel.
///
/// A node without a plug-in is withdrawn from libv4l2 at once: without conversions it only inspects and forwards each
/// call, which costs some 200 instructions per frame.
///
/// libv4l2 prints refusals to standard error while it takes a node over, unless it has a log file; with a log file it
/// writes each call there, which costs more than all other work per frame in the driver's memory. So it gets no log
/// file, and only nodes that will not refuse its requests.
package struct SystemDeviceCalls: DeviceCalls {
    /// The machine's own calls.
    package init() {}

    /// Whether any node of this process belongs to a plug-in. All calls go through libv4l2 then, which distinguishes
    /// them.
    private static let hasPlugIn = Atomic<Bool>(false)

    package func open(_ path: String) -> Int32 {
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

    /// Whether libv4l2 supports this kind of node, and the node will not refuse its requests.
    private static func isForLibrary(_ descriptor: Int32) -> Bool {
        var capability = v4l2_capability()
        guard clibv4l2_kernel_ioctl(descriptor, clibv4l2_QUERYCAP, &capability) == 0,
            capability.device_caps & UInt32(V4L2_CAP_VIDEO_CAPTURE) != 0
        else { return false }
        var format = v4l2_format()
        format.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
        return clibv4l2_kernel_ioctl(descriptor, clibv4l2_G_FMT, &format) == 0
    }

    package func close(_ descriptor: Int32) { v4l2_close(descriptor) }

    package func ioctl(_ descriptor: Int32, _ request: UInt, _ argument: UnsafeMutableRawPointer) -> Int32 {
        let result =
            SystemDeviceCalls.hasPlugIn.load(ordering: .relaxed)
            ? clibv4l2_ioctl(descriptor, request, argument)
            : clibv4l2_kernel_ioctl(descriptor, request, argument)
        return result < 0 ? -errno : result
    }

    /// Not for a plug-in's node, whose behavior while waiting is not known.
    package func setWaiting(_ descriptor: Int32, _ isWaiting: Bool) -> Bool {
        if isWaiting, SystemDeviceCalls.hasPlugIn.load(ordering: .relaxed) { return false }
        let flags = fcntl(descriptor, F_GETFL)
        return flags >= 0 && fcntl(descriptor, F_SETFL, isWaiting ? flags & ~O_NONBLOCK : flags | O_NONBLOCK) >= 0
    }

    package func map(
        _ descriptor: Int32, byteCount: Int, offset: UInt32, isWritable: Bool
    ) -> (address: UnsafeMutableRawPointer?, error: Int32) {
        let protection = isWritable ? PROT_READ | PROT_WRITE : PROT_READ
        let address = v4l2_mmap(nil, byteCount, protection, MAP_SHARED, descriptor, Int64(offset))
        guard let address, address != MAP_FAILED else { return (nil, errno) }
        return (address, 0)
    }

    /// Without memory the mapping stays as it is, and holds the device until it is unmapped.
    package func detach(_ address: UnsafeMutableRawPointer, byteCount: Int) { _ = clibv4l2_detach(address, byteCount) }

    package func unmap(_ address: UnsafeMutableRawPointer, byteCount: Int) { v4l2_munmap(address, byteCount) }
}
