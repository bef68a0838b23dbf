"""A Wayland desktop without a screen: sway, a session bus, PipeWire and the desktop portal, which the bus starts."""

import os
import pathlib
import signal
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
PORTAL, BACKEND = "org.freedesktop.portal.Desktop", "org.freedesktop.impl.portal.desktop.wlr"
BUS = """<busconfig><type>session</type><listen>unix:path={folder}/bus</listen><servicedir>{folder}/services</servicedir>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>"""


class Desktop:
    """What programs of a desktop session find, in a folder of the test. `mode` names what a portal of ours does
    (`portal.py`), with the PipeWire node `node`; without it the portal is the real one with the backend of wlroots."""

    def __init__(self, folder, compositor=None, mode=None, node=""):
        self.folder, self.children = pathlib.Path(folder), {}
        display = "nowhere" if compositor is None else os.path.join(
            compositor.environment["XDG_RUNTIME_DIR"], compositor.environment["WAYLAND_DISPLAY"])
        kept = {name: value for name, value in os.environ.items()
                if name not in {"DISPLAY", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"}}
        self.environment = {
            **kept, "HOME": str(self.folder), "XDG_RUNTIME_DIR": str(self.folder), "WAYLAND_DISPLAY": display,
            "XDG_CURRENT_DESKTOP": "sway", "SWIFT_BACKTRACE": "enable=no",
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.folder}/bus"}
        services = self.folder / "services"
        services.mkdir()
        if mode:
            self.service(PORTAL, f"/usr/bin/python3 {HERE}/portal.py {mode} {node}")
        else:
            library = self.folder / "announce_dmabuf.so"
            subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, HERE / "announce_dmabuf.c", "-lwayland-client"], check=True)
            settings = self.folder / ".config/xdg-desktop-portal-wlr/config"
            settings.parent.mkdir(parents=True)
            settings.write_text("[screencast]\nchooser_type=none\noutput_name=HEADLESS-1\nmax_fps=60\n")
            self.service(PORTAL, "/usr/libexec/xdg-desktop-portal")
            self.service(BACKEND, f"/usr/bin/env LD_PRELOAD={library} /usr/libexec/xdg-desktop-portal-wlr")
            self.service("org.freedesktop.impl.portal.PermissionStore", "/usr/libexec/xdg-permission-store")
        config = self.folder / "bus.conf"
        config.write_text(BUS.format(folder=self.folder))
        self.run("bus", "dbus-daemon", "--nofork", "--nopidfile", f"--config-file={config}")
        self.wait(lambda: (self.folder / "bus").exists(), "dbus-daemon does not start")
        self.start_pipewire()
        if not mode:
            self.wake()

    def wake(self):
        """Starts the backend. It may sleep over a message that came while it started, until the next one comes."""
        self.wait(lambda: subprocess.run(
            ["dbus-send", "--session", "--print-reply", "--reply-timeout=500", f"--dest={BACKEND}",
             "/org/freedesktop/portal/desktop", "org.freedesktop.DBus.Peer.Ping"],
            env=self.environment, capture_output=True, timeout=60).returncode == 0, "the backend does not start")

    def service(self, name, command):
        (self.folder / "services" / f"{name}.service").write_text(f"[D-BUS Service]\nName={name}\nExec={command}\n")

    def start_pipewire(self):
        self.run("pipewire", "pipewire")
        self.wait(lambda: (self.folder / "pipewire-0").exists(), "pipewire does not start")
        self.run("wireplumber", "wireplumber")

    def run(self, name, *command):
        with open(self.folder / f"{name}.log", "ab") as log:
            self.children[name] = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command], env=self.environment, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log)

    def kill(self, name):
        child = self.children.pop(name)
        child.kill()
        child.wait()

    def kill_pipewire(self):
        """The backend of wlroots 0.7 does not find another server, and ends with it."""
        self.kill("wireplumber")
        self.kill("pipewire")
        (self.folder / "pipewire-0").unlink(missing_ok=True)
        self.kill_service(BACKEND)

    def kill_service(self, name):
        """Ends the process that the bus has started for a name, if there is one."""
        answer = subprocess.run(
            ["dbus-send", "--session", "--print-reply=literal", "--dest=org.freedesktop.DBus", "/",
             "org.freedesktop.DBus.GetConnectionUnixProcessID", f"string:{name}"],
            env=self.environment, capture_output=True, text=True, timeout=60)
        if answer.returncode == 0:
            os.kill(int(answer.stdout.split()[-1]), signal.SIGKILL)

    @staticmethod
    def wait(condition, what):
        deadline = time.monotonic() + 60
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(what() if callable(what) else what)
            time.sleep(0.02)

    def close(self):
        # The backend outlives its bus, and spins.
        if "bus" in self.children:
            for name in (PORTAL, BACKEND):
                self.kill_service(name)
        for name in list(self.children):
            self.kill(name)
