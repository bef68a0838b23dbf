"""Bad options and places: one clear line each, the right exit code, and nothing is harmed."""

import json
import os
import subprocess

from support import media
from support.tool import BUSY, IO, NO_INPUT, PERMISSION, USAGE, ToolTestCase

# What must be refused as a usage error.
BAD_VALUES = {
    "--size": ["0x0", "0x480", "640x0", "-3x480", "1x1", "640x1", "16384x16384", "99999999999999999999x1", "0x",
               "x0", "0%", "0.5", "640", "axb", "640x480x3", "640.5x480", ""],
    "--fps": ["0", "-1", "nan", "inf", "1/0", "0/1", "30/-1", "1e9", "99999999999999999999", "abc", ""],
    "--frames": ["-1", "1.5", "many", "99999999999999999999"],
    "--duration": ["-1", "nan", "inf", "soon"],
    "--bitrate": ["0", "-1", "5X", "1e3k", "99999999999999999999M", ""],
    "--keyframe-interval": ["-1", "often"],
    "--threads": ["-1", "0.5", "100000"],
    "--seed": ["abc", "-0.5"],
    "--orientation": ["sideways"],
    "--content-hint": ["nonsense"],
    "--stats": ["xml"],
}


class OptionTests(ToolTestCase):
    WAITS = True

    def test_bad_values(self):
        for option, values in BAD_VALUES.items():
            for value in values:
                with self.subTest(option=option, value=value):
                    # The form with `=`, so that a value may begin with a dash.
                    run = self.run_tool(
                        "--source", "noise", f"{option}={value}", "--output", "null")
                    self.assertRefused(run, USAGE)
                    self.assertOneLine(run)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_size_that_an_encoder_does_not_take(self):
        run = self.run_tool("--source", "noise", "--size", "8x8", "--encoder", "openh264", "--frames", 10, "--output", "a.mp4")
        self.assertRefused(run, USAGE, "16x16", "8x8")

    def test_the_nearest_name_is_named(self):
        for arguments, nearest in (
            (["--source", "niose"], "noise"),
            (["--source", "noise", "--output", "a.wbem"], "webm"),
            (["--source", "noise", "--output", "a.y4n"], "y4m"),
            (["--source", "noise", "--preset", "72p"], "720p"),
            (["--source", "noise", "--pixel-format", "nv21x"], "nv21"),
            (["--source", "noise", "--stats", "jsn"], "json"),
            (["--source", "noise", "--durations", "1"], "--duration"),
        ):
            with self.subTest(arguments=arguments):
                run = self.run_tool(*arguments)
                self.assertRefused(run, USAGE)
                self.assertIn(nearest, run.stderr.lower())
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_what_does_not_fit_together(self):
        clip = self.folder / "clip.y4m"
        media.make_y4m(clip)
        before = clip.read_bytes()
        for arguments in (
            ["--source", "file", "--output", "null"],
            ["--source", "noise", "--output", "a.webm", "--output", "a.webm"],
            ["--source", "noise", "--output", "a.webm", "--output", "./a.webm"],
            ["--source", "noise", "--output", "-", "--output", "-"],
            ["--source", "file", "--input", clip, "--output", clip, "--force"],
        ):
            with self.subTest(arguments=arguments):
                self.assertRefused(self.run_tool(*arguments), USAGE)
        self.assertEqual(clip.read_bytes(), before)
        self.assertEqual([file.name for file in self.folder.iterdir()], ["clip.y4m"])


class PlaceTests(ToolTestCase):
    WAITS = True

    def record(self, output, *more):
        return self.run_tool(
            "--source", "noise", "--size", "64x48", "--frames", 3, "--output", output, *more)

    def test_a_missing_folder(self):
        self.assertRefused(self.record("no/such/folder/a.webm"), NO_INPUT, "no/such/folder")

    def test_a_folder_in_place_of_a_file(self):
        (self.folder / "a.webm").mkdir()
        self.assertRefused(self.record("a.webm", "--force"), IO, "a.webm")

    def test_a_folder_that_may_not_be_written(self):
        if os.geteuid() == 0:
            folder = "/sys"  # refuses even root, with EACCES or EROFS
        else:
            folder = self.folder / "closed"
            folder.mkdir(mode=0o555)
        self.assertRefused(self.record(f"{folder}/a.webm"), PERMISSION, f"{folder}")

    def test_a_disk_that_is_mounted_read_only(self):
        if os.geteuid() != 0:
            self.skipTest("mounting needs root")
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "ro,size=64k", "tmpfs", str(disk)], stderr=subprocess.PIPE)
        if mounted.returncode != 0:
            self.skipTest(f"mount: {mounted.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", str(disk)])
        self.assertRefused(self.record(disk / "a.webm"), PERMISSION, "a.webm")

    def test_an_existing_file_stays_without_force(self):
        file = self.folder / "a.webm"
        file.write_bytes(b"dear to somebody")
        self.assertRefused(self.record(file), USAGE, "a.webm", "--force")
        self.assertEqual(file.read_bytes(), b"dear to somebody")
        self.assertEqual(self.record(file, "--force").code, 0)
        self.assertEqual(media.decode(file), (3, ""))

    def test_two_runs_do_not_write_one_file(self):
        file = self.folder / "a.webm"
        first = self.start("--source", "noise", "--size", "64x48", "--output", file)
        first.wait_for_file(file)
        self.assertRefused(self.record(file, "--force"), BUSY, "a.webm", "recording to this file")
        first.send(2)
        self.assertEqual(first.finish().code, 0)
        self.assertEqual(media.decode(file)[1], "")
        self.assertEqual(self.record(file, "--force").code, 0)
        self.assertEqual(media.decode(file), (3, ""))

    def test_one_bad_output_of_two_leaves_nothing_behind(self):
        run = self.run_tool(
            "--source", "noise", "--frames", 3, "--output", "good.webm", "--output", "no/bad.webm")
        self.assertRefused(run, NO_INPUT)
        self.assertFalse((self.folder / "good.webm").exists())


class CameraTests(ToolTestCase):
    """What is said of cameras on any machine."""

    WAITS = True

    def test_a_device_that_is_no_camera(self):
        for arguments in (["--device", "/dev/null"], ["--source", "camera", "--device", "/dev/null"],
                          ["list", "--device", "/dev/null"], ["list", "--modes", "--device", "/dev/null"]):
            with self.subTest(arguments=arguments):
                run = self.run_tool(*arguments)
                self.assertRefused(run, NO_INPUT, "/dev/null", "not a camera")
                self.assertOneLine(run)
        (self.folder / "file").write_bytes(b"no camera")
        self.assertRefused(self.run_tool("--device", "./file"), NO_INPUT, "a file, not a camera")

    def test_a_camera_that_is_not_there(self):
        for arguments in (["--device", "nosuch"], ["--device", "/dev/video987"], ["list", "--device", "nosuch"],
                          ["list", "--controls", "--device", "nosuch"]):
            with self.subTest(arguments=arguments):
                run = self.run_tool(*arguments)
                self.assertRefused(run, NO_INPUT, "camera")
                self.assertOneLine(run)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_machine_without_a_camera(self):
        if json.loads(self.succeed("list", "--json").stdout)["cameras"]:
            self.skipTest("this machine has a camera")
        for arguments in (["--source", "camera"], ["list", "--modes"], ["list", "--controls"],
                          ["list", "--modes", "--json"]):
            with self.subTest(arguments=arguments):
                run = self.run_tool(*arguments)
                self.assertRefused(run, NO_INPUT, "There is no camera")
                self.assertOneLine(run)
        self.assertEqual(list(self.folder.iterdir()), [])
        self.assertIn("cameras: none", self.succeed("list").stdout.decode())

    def test_bad_camera_options(self):
        for arguments, word in (
            (["--source", "camera", "--control", "foo"], "NAME=VALUE"),
            (["--source", "camera", "--capture-format", "toolong"], "four characters"),
            (["--source", "noise", "--control", "x=1"], "no such option"),
            (["--source", "noise", "--keep-rate"], "no such option"),
            (["list", "--fps", "30"], "--modes"),
            (["list", "--modes", "--fps", "0"], "--fps"),
            (["list", "--modes", "--preset", "huge"], "huge"),
        ):
            with self.subTest(arguments=arguments):
                run = self.run_tool(*arguments)
                self.assertRefused(run, USAGE, word)
                self.assertOneLine(run)
        self.assertEqual(list(self.folder.iterdir()), [])


class HelpTests(ToolTestCase):
    WAITS = True

    def test_help_has_examples_and_stays_short(self):
        run = self.succeed("--help")
        text = run.stdout.decode()
        self.assertLessEqual(len(text.splitlines()), 120)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        self.assertIn("capturer-demo --source noise", text)
        for option in (*BAD_VALUES, "--source", "--input", "--preset", "--output", "--pixel-format", "--preview",
                       "--quiet", "--force"):
            self.assertIn(option, text)

    def test_list(self):
        text = self.succeed("list").stdout.decode()
        self.assertIn("noise", text)
        self.assertIn("file", text)
        names = json.dumps(json.loads(self.succeed("list", "--json").stdout))
        self.assertIn('"noise"', names)
        self.assertIn('"file"', names)

    def test_doctor(self):
        text = self.succeed("doctor").stdout.decode().lower()
        for word in ("vpx", "yuv", "swift"):
            self.assertIn(word, text)

    def test_help_of_a_name(self):
        self.assertIn("--device", self.succeed("help", "camera").stdout.decode())
        self.assertIn("--jpeg-quality", self.succeed("help", "serve").stdout.decode())
        self.assertEqual(self.succeed("list", "--help").stdout, self.succeed("help", "list").stdout)
        for name in ("camera", "webm", "vp8", "doctor"):
            self.assertIn(name, self.succeed("help", "all").stdout.decode())
        self.assertRefused(self.run_tool("help", "camra"), USAGE, "camera")
        self.assertRefused(self.run_tool("lst"), USAGE, "capturer-demo list")

    def test_completion(self):
        script = self.folder / "completion"
        script.write_bytes(self.succeed("completion", "bash").stdout)
        for words, expected in (("--sour", "--source"), ("--source cam", "camera"), ("list --mod", "--modes")):
            with self.subTest(words=words):
                asked = f". {script}; COMP_WORDS=(capturer-demo {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); " \
                    "_capturer_demo; echo \"${COMPREPLY[@]}\""
                run = subprocess.run(["bash", "--norc", "-c", asked], capture_output=True, text=True)
                self.assertEqual((run.stdout.strip(), run.stderr), (expected, ""))
        self.assertRefused(self.run_tool("completion", "tcsh"), USAGE, "bash, zsh, fish")

    def test_manual(self):
        text = self.succeed("manual").stdout.decode()
        self.assertTrue(text.startswith(".TH "))
        self.assertIn("keyframe", text)
