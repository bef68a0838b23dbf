"""Sound servers as ordinary processes, without a sound card: a loudspeaker, a microphone that is fed by playing, and another
source."""

import json
import os
import pathlib
import signal
import subprocess
import time

ALSA = """</usr/share/alsa/alsa.conf>
pcm.!default { type pulse }
ctl.!default { type pulse }
pcm.microphone { type pulse device "microphone" }
"""

PULSE = """.fail
load-module module-native-protocol-unix socket={socket} auth-anonymous=1
load-module module-null-sink sink_name=speaker rate=48000 channels=2 norewinds=1
load-module module-null-sink sink_name=feed rate=48000 channels=2 norewinds=1
load-module module-null-sink sink_name=second rate=48000 channels=2 norewinds=1
load-module module-remap-source source_name=microphone master=feed.monitor
set-default-sink speaker
set-default-source microphone
"""

# Both are adapters of a null sink; what is played to the feed is what the microphone, its other side, hears.
PIPEWIRE = """context.objects = [
  { factory = adapter args = { factory.name = support.null-audio-sink node.name = speaker
      media.class = Audio/Sink audio.position = [ FL FR ] object.linger = true } }
  { factory = adapter args = { factory.name = support.null-audio-sink node.name = feed
      media.class = Audio/Sink audio.position = [ FL FR ] object.linger = true } }
  { factory = adapter args = { factory.name = support.null-audio-sink node.name = second
      media.class = Audio/Sink audio.position = [ FL FR ] object.linger = true } }
]
"""
PIPEWIRE_START = """
pipewire & while ! [ -S $XDG_RUNTIME_DIR/pipewire-0 ]; do sleep 0.05; done
wireplumber & pipewire-pulse & wait
"""


class SoundServer:
    """A server of its own, and the environment of programs that use it."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder) / "server"
        run = self.folder / "run"
        (run / "pulse").mkdir(parents=True)
        run.chmod(0o700)
        self.socket = run / "pulse" / "native"
        alsa = self.folder / "asound.conf"
        alsa.write_text(ALSA)
        hidden = {"DISPLAY", "WAYLAND_DISPLAY", "PULSE_SERVER", "DBUS_SESSION_BUS_ADDRESS"}
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in hidden},
            "XDG_RUNTIME_DIR": str(run), "HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder / "config"),
            "XDG_STATE_HOME": str(self.folder / "state"), "PULSE_SERVER": f"unix:{self.socket}",
            "ALSA_CONFIG_PATH": str(alsa), "SWIFT_BACKTRACE": "enable=no"}
        self.others = []
        self.begin()

    def command(self):
        """What starts the server."""
        raise NotImplementedError

    def begin(self):
        # A socket of a server that was killed would have the others start before this one, and end.
        for socket in (self.socket, self.socket.parent.parent / "pipewire-0"):
            socket.unlink(missing_ok=True)
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                self.command(), env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)
        deadline = time.monotonic() + 40
        while "microphone" not in self.sources():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"the sound server does not start: {(self.folder / 'log').read_text()[-1500:]}")
            self.prepare()
            time.sleep(0.1)

    def prepare(self):
        """Makes what the configuration could not."""

    def control(self, *words):
        return subprocess.run(["pactl", *words], env=self.environment, capture_output=True, text=True, timeout=20).stdout

    def sources(self):
        return self.control("list", "short", "sources") if self.socket.exists() else ""

    def source(self, name):
        """The number of a source, or None."""
        rows = [line.split("\t") for line in self.sources().splitlines()]
        return next((int(row[0]) for row in rows if row[1] == name), None)

    def feed(self, file, sink="feed"):
        """Plays a file to the microphone, or to another sink, until the end of the test."""
        self.others.append(subprocess.Popen(
            ["paplay", f"--device={sink}", str(file)], env=self.environment, stdin=subprocess.DEVNULL))

    def recording(self, process):
        """The stream in which a process records, as the server knows it, or None."""
        found = json.loads(self.control("--format=json", "list", "source-outputs") or "[]")
        return next((stream for stream in found
                     if stream["properties"].get("application.process.id") == str(process.pid)), None)

    def hear(self, file):
        """Records the loudspeaker, as 16-bit stereo of 48 kHz, until the end of the test."""
        with open(file, "wb") as output:
            self.others.append(subprocess.Popen(
                ["parec", "--device=speaker.monitor", "--format=s16le", "--rate=48000", "--channels=2"],
                env=self.environment, stdin=subprocess.DEVNULL, stdout=output))

    def freeze(self):
        """Stops the server in mid-work, as a deadlock does."""
        os.killpg(self.process.pid, signal.SIGSTOP)

    def thaw(self):
        os.killpg(self.process.pid, signal.SIGCONT)

    def kill(self):
        """Ends the server as a crash does."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def end(self):
        for process in self.others:
            process.kill()
            process.wait()
        self.kill()


class PulseAudio(SoundServer):
    def command(self):
        script = self.folder / "default.pa"
        script.write_text(PULSE.format(socket=self.socket))
        return ["pulseaudio", "-n", "-F", str(script), "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no",
                "--disable-shm=yes"]


class PipeWire(SoundServer):
    def command(self):
        folder = self.folder / "config" / "pipewire" / "pipewire.conf.d"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "10-virtual.conf").write_text(PIPEWIRE)
        # Without a session bus wireplumber ends, and no stream is linked.
        return ["dbus-run-session", "--", "bash", "-c", PIPEWIRE_START]

    def prepare(self):
        if "feed.monitor" not in self.sources():
            return
        self.control("load-module", "module-remap-source", "source_name=microphone", "master=feed.monitor")
        self.control("set-default-sink", "speaker")
        self.control("set-default-source", "microphone")
