import PipeWireSupport
import TestTools
import Testing
import VideoCapturing

#if canImport(Glibc)
    import Glibc
#endif

/// A PipeWire server with its session manager, of a test's own. It ends with its last reference.
final class PrivateServer {
    private let folder = TemporaryFolder()
    private var process: Peer?

    /// Where programs find it.
    var socket: String { folder.file("pipewire-0") }

    /// The session manager wants a bus. All end with the shell, however that ends.
    private static let script = """
        run() { setpriv --pdeathsig KILL "$@" >>"$HOME/log" 2>&1 & }
        rm -f "$XDG_RUNTIME_DIR/bus" "$XDG_RUNTIME_DIR/pipewire-0"
        run dbus-daemon --session --nofork --nopidfile --address="unix:path=$XDG_RUNTIME_DIR/bus"
        until [ -S "$XDG_RUNTIME_DIR/bus" ]; do sleep 0.02; done
        export DBUS_SESSION_BUS_ADDRESS="unix:path=$XDG_RUNTIME_DIR/bus"
        run pipewire
        until [ -S "$XDG_RUNTIME_DIR/pipewire-0" ]; do sleep 0.02; done
        run wireplumber
        echo ready
        wait
        """

    init() throws { try start() }

    func start() throws {
        // As the user's own server would be, but without the machine's devices and desktop.
        let environment = [
            "-u", "DISPLAY", "-u", "WAYLAND_DISPLAY", "-u", "XDG_CONFIG_HOME", "-u", "XDG_STATE_HOME",
            "HOME=\(folder.path)", "XDG_RUNTIME_DIR=\(folder.path)", "bash", "-c", PrivateServer.script,
        ]
        let process = try #require(Peer("/usr/bin/env", environment))
        try #require(process.line() == "ready", "pipewire, wireplumber, dbus-daemon or setpriv is missing")
        self.process = process
    }

    /// Ends it as a crash does.
    func stop() {
        process?.stop()
        process = nil
    }

    /// Waits until the camera of tests is among the nodes.
    func waitForCamera() throws {
        let connection = try PipeWireConnection(.named(socket), for: "test")
        let isFound = eventually {
            connection.run()
            return connection.nodes.values.contains { $0.title == "Test camera" }
        }
        try #require(isFound, "the camera does not appear")
    }
}
