"""Who reads files with sound, and films whose sound is recorded again: by pipes, VLC, Chromium and ffmpeg."""

import array
import json

from support.devtools import DevTools
from support.media import command, probe
from support.stream import StreamTestCase
from support.tool import USAGE
from test_sound import serve

BEEPS = ("--source", "noise", "--size", "160x120", "--fps", "30", "--audio", "tone", "--tone-sound", "beep", "--tone-level", "3")
RATE = 48_000


def beeps(samples):
    """Where beeps begin, in seconds from the first sample."""
    found, quiet = [], RATE
    for number, sample in enumerate(samples):
        if abs(sample) > 6000:
            if quiet >= 2400:
                found.append(number / RATE)
            quiet = 0
        else:
            quiet += 1
    return found


def pictures(file, is_ours=True):
    """How many pictures of a file can be decoded; fails where ffprobe complains of one of ours."""
    found = command(
        "ffprobe", "-v", "error", "-count_frames", "-select_streams", "v:0", "-show_entries", "stream=nb_read_frames", "-of",
        "csv=p=0", file)
    if found.stderr and is_ours:
        raise AssertionError(found.stderr.decode(errors="replace"))
    return int(found.stdout.split()[0].strip(b","))


def sound(file):
    """The sound of a file, one channel of 48 kHz."""
    decoded = command("ffmpeg", "-v", "error", "-i", file, "-map", "0:a:0", "-ac", "1", "-ar", RATE, "-f", "s16le", "-")
    return array.array("h", decoded.stdout)


class SoundPeerTests(StreamTestCase):
    WAITS = True
    LATER = True

    def assertSeconds(self, found):
        """Beeps whole seconds apart; a busy machine may lose one, or the beginning of its 30 ms."""
        self.assertGreaterEqual(len(found), 3, found)
        for before, after in zip(found, found[1:]):
            self.assertAlmostEqual(after - before, max(1, round(after - before)), delta=0.035, msg=f"{found}")

    def test_a_pipe_has_both(self):
        run = self.succeed(*BEEPS, "--duration", 4, "-o", "-")
        (self.folder / "piped.webm").write_bytes(run.stdout)
        streams = json.loads(command(
            "ffprobe", "-v", "error", "-show_streams", "-of", "json", self.folder / "piped.webm").stdout)["streams"]
        self.assertEqual([stream["codec_name"] for stream in streams], ["vp8", "opus"])
        self.assertGreater(pictures(self.folder / "piped.webm"), 60)
        self.assertSeconds(beeps(sound(self.folder / "piped.webm")))

    def test_vlc_plays_both(self):
        self.succeed(*BEEPS, "--duration", 5, "-o", "av.webm")
        vlc = ("cvlc", "-I", "dummy", "--play-and-exit", "--sout")
        heard = self.begin(
            *vlc, "#transcode{acodec=s16l,channels=1,samplerate=48000}:std{access=file,mux=wav,dst=vlc.wav}", "--no-video",
            "av.webm")
        seen = self.begin(
            *vlc, "#transcode{vcodec=mp2v,vb=2000}:std{access=file,mux=ts,dst=vlc.ts}", "--no-audio", "av.webm")
        self.assertEqual((heard.wait(60), seen.wait(60)), (0, 0))
        self.assertSeconds(beeps(sound(self.folder / "vlc.wav")))
        # It leaves pictures out where the machine is too busy to encode them.
        self.assertGreater(pictures(self.folder / "vlc.ts", is_ours=False), 30)

    def test_chromium_decodes_each_sample(self):
        """decodeAudioData closes gaps, and would show a hole as beeps that are less than a second apart."""
        self.succeed(*BEEPS, "--duration", 5, "-o", "av.webm")
        browser = DevTools()
        self.addCleanup(browser.close)
        tab = browser.open()
        tab.go(serve(self, self.folder / "av.webm"))
        decoded = tab.evaluate("""(async () => {
            const data = await (await fetch("/media")).arrayBuffer();
            const sound = await new OfflineAudioContext(1, 48000, 48000).decodeAudioData(data);
            const samples = sound.getChannelData(0), found = [];
            let quiet = 48000;
            for (let i = 0; i < samples.length; i++) {
                if (Math.abs(samples[i]) > 0.18) { if (quiet >= 2400) found.push(i / 48000); quiet = 0; } else quiet++;
            }
            return { seconds: sound.duration, found };
        })()""")
        self.assertAlmostEqual(decoded["seconds"], 5, delta=0.1)
        self.assertSeconds(decoded["found"])


class FilmSoundTests(StreamTestCase):
    WAITS = True
    LATER = True

    def film(self, name, *options, duration=4):
        """A film that beeps at each whole second from 1 s on."""
        tone = "if(gte(t\\,0.9)*lt(mod(t\\,1)\\,0.03)\\,0.8*cos(2*PI*1000*mod(t\\,1))\\,0)"
        made = command(
            "ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", f"testsrc2=size=160x120:rate=30:duration={duration}", "-f",
            "lavfi", "-i", f"aevalsrc={tone}|{tone}:sample_rate=48000:duration={duration}", "-pix_fmt", "yuv420p", *options,
            self.folder / name)
        self.assertEqual(made.returncode, 0, made.stderr.decode(errors="replace"))
        return name

    def assertBeeps(self, file, count):
        # A busy machine may lose one.
        found = beeps(sound(self.folder / file))
        self.assertGreaterEqual(len(found), count - 1, found)
        for beep in found:
            self.assertAlmostEqual(beep, round(beep), delta=0.03, msg=f"{found}")

    def test_a_film_keeps_its_sound(self):
        film = self.film("film.mp4", "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac")
        run = self.succeed("--input", film, "-o", "a.webm", "-o", "b.mkv", "--stats", "json")
        summary = json.loads(run.stderr.splitlines()[-1])
        # At its own rate, at which a busy machine may lose some; as fast as it goes none, below.
        self.assertEqual(summary["audio"]["source"], "file")
        for file in ("a.webm", "b.mkv"):
            streams = json.loads(command(
                "ffprobe", "-v", "error", "-show_streams", "-of", "json", self.folder / file).stdout)["streams"]
            codecs = ["vp8", "opus"] if file == "a.webm" else ["h264", "opus"]
            self.assertEqual([stream["codec_name"] for stream in streams], codecs, file)
            self.assertEqual(pictures(self.folder / file), 120)
        self.assertAlmostEqual(float(probe(self.folder / "a.webm")["format"]["duration"]), 4, delta=0.1)
        self.assertBeeps("a.webm", 3)

    def test_a_film_as_fast_as_it_goes_keeps_its_sound(self):
        film = self.film("film.mp4", "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac", duration=20)
        run = self.succeed("--input", film, "--fps", "max", "-o", "a.webm", "-o", "b.mp4", "--stats", "json")
        summary = json.loads(run.stderr.splitlines()[-1])
        self.assertEqual((summary["audio"]["lost"], summary["audio"]["secondsOfSilence"]), (0, 0))
        for file in ("a.webm", "b.mp4"):
            self.assertEqual(pictures(self.folder / file), 600)
            # Exact, whatever the machine does meanwhile.
            found = beeps(sound(self.folder / file))
            self.assertEqual(len(found), 19, found)
            for number, beep in enumerate(found, 1):
                self.assertAlmostEqual(beep, number, delta=0.03)
            self.assertAlmostEqual(float(probe(self.folder / file)["format"]["duration"]), 20, delta=0.01)

    def test_a_part_of_a_film(self):
        film = self.film("film.mkv", "-c:v", "mjpeg", "-c:a", "flac", duration=6)
        self.succeed("--input", film, "--start", "2", "--end", "5", "-o", "a.webm")
        self.assertEqual(pictures(self.folder / "a.webm"), 90)
        self.assertBeeps("a.webm", 3)

    def test_the_sound_alone(self):
        film = self.film("film.mp4", "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac")
        self.succeed("--input", film, "-o", "voice.wav")
        self.assertAlmostEqual(float(probe(self.folder / "voice.wav")["format"]["duration"]), 4, delta=0.05)
        self.assertBeeps("voice.wav", 3)

    def test_without_sound(self):
        film = self.film("silent.mp4", "-map", "0:v", "-c:v", "libx264", "-preset", "ultrafast", duration=1)
        both = self.film("film.mp4", "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac", duration=1)
        for options in (("--input", film), ("--input", both, "--audio", "none"), ("--input", both, "--rate", "2")):
            self.succeed(*options, "-o", "a.webm", "--force")
            found = probe(self.folder / "a.webm")
            self.assertEqual(found["stream"]["codec_name"], "vp8")
            self.assertNotIn("opus", command("ffprobe", "-v", "error", "-show_streams", self.folder / "a.webm").stdout.decode())
        self.assertRefused(self.run_tool("--input", film, "-o", "a.wav"), USAGE, "has none")
        # Another sound in place of its own.
        self.succeed("--input", film, "--audio", "tone", "-o", "b.webm")
        self.assertGreater(max(sound(self.folder / "b.webm")), 1000)


