import CLibXCB
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Memory that is shared with the X server, which writes or reads pixels there (MIT-SHM). Detached when it is released; the kernel frees it even when
/// this process is killed, since it is marked for removal as soon as both have attached it.
package final class SharedImage {
    package let segment: xcb_shm_seg_t
    package let memory: UnsafeMutableRawPointer
    package let byteCount: Int
    private let connection: XConnection

    /// Nil when the server has no MIT-SHM or is on another machine: then pixels are sent.
    package init?(_ connection: XConnection, byteCount: Int) throws(XFailure) {
        guard connection.extensions.sharedMemory != nil else { return nil }
        let identifier = shmget(IPC_PRIVATE, byteCount, IPC_CREAT | 0o600)
        guard identifier >= 0 else { return nil }
        guard let memory = shmat(identifier, nil, 0), memory != UnsafeMutableRawPointer(bitPattern: -1) else {
            shmctl(identifier, IPC_RMID, nil)
            return nil
        }
        let segment = xcb_generate_id(connection.handle)
        let cookie = xcb_shm_attach_checked(connection.handle, segment, UInt32(identifier), 0)
        // Marked before any failure can be thrown; attached processes keep it.
        let outcome: Result<Void, XFailure>
        do throws(XFailure) {
            try connection.check(cookie)
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        shmctl(identifier, IPC_RMID, nil)
        if case .failure(let failure) = outcome {
            shmdt(memory)
            if case .refused = failure { return nil }
            throw failure
        }
        self.segment = segment
        self.memory = memory
        self.byteCount = byteCount
        self.connection = connection
    }

    deinit {
        xcb_shm_detach(connection.handle, segment)
        xcb_flush(connection.handle)
        shmdt(memory)
    }
}
