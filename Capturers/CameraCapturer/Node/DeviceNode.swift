import CLibV4L2

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// An open node of a V4L2 device. Belongs to one thread; closed at the latest when it is destroyed.
final class DeviceNode {
    /// The path it was opened by, as in `/dev/video0`.
    let path: String
    let calls: any DeviceCalls
    private(set) var descriptor: Int32
    /// What the driver said of itself when the node was opened.
    let capabilities: DeviceCapabilities

    /// Throws what the system answered to `open` or to the first question; never blocks.
    init(opening path: String, calls: any DeviceCalls) throws(IoctlFailure) {
        self.path = path
        self.calls = calls
        let opened = DeviceNode.again { calls.open(path) }
        guard opened >= 0 else { throw IoctlFailure(request: "open", number: -opened) }
        var capability = v4l2_capability()
        do throws(IoctlFailure) {
            try DeviceNode.request(.queryCapabilities, &capability, descriptor: opened, calls: calls)
        } catch {
            calls.close(opened)
            throw error
        }
        descriptor = opened
        capabilities = DeviceCapabilities(capability)
    }

    deinit { close() }

    /// Gives the node back. Memory that was mapped stays.
    func close() {
        guard descriptor >= 0 else { return }
        calls.close(descriptor)
        descriptor = -1
    }

    /// Throws when the device is gone.
    func checkPresence() throws(IoctlFailure) {
        var capability = v4l2_capability()
        try request(.queryCapabilities, &capability)
    }

    /// Asks the driver, again whenever a signal interrupts.
    @discardableResult
    func request<Argument>(_ request: DeviceRequest, _ argument: inout Argument) throws(IoctlFailure) -> Int32 {
        try DeviceNode.request(request, &argument, descriptor: descriptor, calls: calls)
    }

    @discardableResult
    private static func request<Argument>(
        _ request: DeviceRequest, _ argument: inout Argument, descriptor: Int32, calls: any DeviceCalls
    ) throws(IoctlFailure) -> Int32 {
        let result = withUnsafeMutablePointer(to: &argument) { pointer in
            again { calls.ioctl(descriptor, request.code, pointer) }
        }
        guard result >= 0 else { throw IoctlFailure(request: request.name, number: -result) }
        return result
    }

    /// Asks again whenever a signal interrupts; not without end, so that a driver that never answers otherwise cannot
    /// hold the thread.
    private static func again(_ call: () -> Int32) -> Int32 {
        var result = call()
        var attempts = 1
        while result == -EINTR, attempts < 100 {
            result = call()
            attempts += 1
        }
        return result
    }
}
