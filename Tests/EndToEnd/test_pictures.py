"""Colors, orientation and aspect of a picture, from every kind of source in every container, as ffmpeg and browsers show
them."""

import contextlib
import http.server
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from support.browsing import PageHandler, chromium
from support.mjpeg import Camera
from support.tool import ToolTestCase

# Four blocks in a row, two rows; no two turns or mirrors of it are equal.
BLOCKS = [
    [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)],
    [(17, 17, 17), (119, 119, 119), (255, 255, 0), (34, 136, 204)],
]
SIDE = 48  # of a block, in pixels
OUTPUTS = ["webm", "ivf", "mp4", "ts", "png", "jpg"]
# Chroma is coarse, and 8 bits of limited range are 220 steps; where a range is wrong, 17 becomes 1 or 31.
TOLERANCE = 12


def turned(blocks, orientation):
    """The blocks as a viewer shows a picture of this EXIF orientation."""
    if orientation >= 5:  # the main diagonal is the mirror
        blocks = [list(column) for column in zip(*blocks)]
    if orientation in (2, 3, 6, 7):
        blocks = [row[::-1] for row in blocks]
    if orientation in (3, 4, 7, 8):
        blocks = blocks[::-1]
    return blocks


def command(*arguments, **options):
    return subprocess.run(
        [str(argument) for argument in arguments], check=True, stdin=options.pop("stdin", subprocess.DEVNULL),
        stdout=subprocess.PIPE, timeout=60, **options).stdout


class PictureTestCase(ToolTestCase):
    WAITS = True

    def setUp(self):
        super().setUp()
        self.picture = self.folder / "blocks.ppm"
        rows = [b"".join(bytes(color) * SIDE for color in row) * SIDE for row in BLOCKS]
        self.picture.write_bytes(b"P6 %d %d 255\n" % (4 * SIDE, 2 * SIDE) + b"".join(rows))

    def film(self, name, filters="", *options):
        file = self.folder / name
        command(
            "ffmpeg", "-v", "error", "-y", "-loop", 1, "-r", 10, "-i", self.picture, "-frames:v", 1 if name.endswith("png") else 3, "-vf",
            f"{filters or 'null'}", *options, file)
        return file

    def colored(self, name, matrix, range, filters=""):
        code = {"bt601": "smpte170m"}.get(matrix, matrix)
        return self.film(
            name, f"scale=out_color_matrix={matrix}:out_range={range},format=yuv444p{filters}", "-c:v", "ffv1",
            "-colorspace", code, "-color_range", range)

    def photo(self, name, orientation=1):
        """JPEG of 4:4:4, so that blocks have their color up to the edge."""
        file = self.folder / name
        command("ffmpeg", "-v", "error", "-y", "-i", self.picture, "-q:v", 1, "-pix_fmt", "yuvj444p", file)
        command("exiftool", "-q", "-overwrite_original", "-n", f"-Orientation={orientation}", file)
        return file

    def make(self, source, kinds, *options, limit=()):
        files = [self.folder / f"out.{kind}" for kind in kinds]
        self.succeed(
            *source, *limit, "--quiet", "--force", *options, *(word for file in files for word in ("-o", file)))
        return files

    def assertShows(self, file, blocks, size):
        """ffmpeg shows these blocks, and the whole in this size."""
        stream = json.loads(command(
            "ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "stream=width,height,sample_aspect_ratio", "-of",
            "json", file))["streams"][0]
        across, down = (int(side) for side in stream.get("sample_aspect_ratio", "1:1").split(":"))
        shown = (stream["width"] * (across or 1) / (down or 1), stream["height"])
        # As wide or as high, whichever was scaled.
        self.assertAlmostEqual(shown[0] / shown[1], size[0] / size[1], delta=0.01, msg=f"{file}: {shown}")
        width, height = len(blocks[0]) * 16, len(blocks) * 16
        # The middle of each block, in one pixel.
        pixels = command(
            "ffmpeg", "-v", "error", "-i", file, "-frames:v", 1, "-vf",
            f"scale={width}:{height}:flags=area,format=rgb24", "-f", "rawvideo", "-")
        self.assertColors(
            {(x, y): tuple(pixels[3 * ((16 * y + 8) * width + 16 * x + 8):][:3])
             for y in range(len(blocks)) for x in range(len(blocks[0]))}, blocks, file)

    def assertColors(self, found, blocks, what):
        for (x, y), color in found.items():
            error = max(abs(one - other) for one, other in zip(color, blocks[y][x]))
            self.assertLessEqual(error, TOLERANCE, f"{what}: {color} for {blocks[y][x]} at {x}, {y}")


class PictureTests(PictureTestCase):
    def test_colors_and_aspect(self):
        square, wide = (4 * SIDE, 2 * SIDE), (4 * SIDE * 4 / 3, 2 * SIDE)
        for name, source, size in [
            *((f"{matrix}-{range}", self.colored(f"{matrix}-{range}.mkv", matrix, range), square)
              for matrix in ("bt601", "bt709") for range in ("tv", "pc")),
            ("red, green and blue", self.film("rgb.png"), square),
            ("a photo", self.photo("a.jpg"), square),
            ("wide pixels", self.colored("wide.mkv", "bt601", "pc", ",setsar=4/3"), wide),
            ("high pixels", self.colored("high.mkv", "bt709", "tv", ",setsar=3/4"), (4 * SIDE * 3 / 4, 2 * SIDE)),
        ]:
            # Y4M has no field for the matrix.
            kinds = OUTPUTS if "bt709" in name or "high" in name else [*OUTPUTS, "y4m"]
            for file in self.make(("--input", source, "--fps", "max"), kinds):
                with self.subTest(name, output=file.suffix):
                    self.assertShows(file, BLOCKS, size)

    def test_orientations(self):
        for orientation in range(1, 9):
            blocks = turned(BLOCKS, orientation)
            size = (len(blocks[0]), len(blocks))
            source = self.photo("turned.jpg", orientation)
            for file in self.make(("--input", source, "--fps", "max"), ["webm", "mp4", "y4m", "png", "jpg"],
                                  "--still-orientation", "applied"):
                with self.subTest(orientation, output=file.suffix):
                    self.assertShows(file, blocks, size)

    def test_a_network_camera(self):
        """Its JPEG has full range."""
        camera = Camera(self.photo("a.jpg").read_bytes())
        camera.send = lambda connection: [connection.write(camera.part) for _ in range(100)]
        self.addCleanup(camera.close)
        for file in self.make(("--input", camera.url), ["webm", "ivf", "mp4", "png", "jpg"], limit=("--frames", 5)):
            with self.subTest(output=file.suffix):
                self.assertShows(file, BLOCKS, (4 * SIDE, 2 * SIDE))

    def test_fields(self):
        """Lines of two moments are not shown at once; both fields stay where that is wanted."""
        film = self.folder / "fields.ts"
        command(
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=white:s=64x48:r=25,format=yuv420p", "-f", "lavfi", "-i",
            "color=black:s=64x48:r=25,format=yuv420p", "-filter_complex", "[0][1]interleave,tinterlace=interleave_top",
            "-c:v", "mpeg2video", "-q:v", 1, "-flags", "+ildct+ilme", "-top", 1, "-frames:v", 5, film)
        said = "is interlaced; it is deinterlaced, and --deinterlace no keeps both fields."
        for options, rows in ((), 1), (("--deinterlace", "no"), 2):
            run = self.succeed("--input", film, "--fps", "max", "--force", *options, "-o", "out.y4m")
            self.assertEqual(run.stderr.count(said), 2 - rows, str(run))
            luma = command(
                "ffmpeg", "-v", "error", "-i", self.folder / "out.y4m", "-frames:v", 1, "-vf", "format=gray,crop=1:48:32:0", "-f",
                "rawvideo", "-")
            self.assertEqual(len({value > 128 for value in luma}), rows, list(luma))


class Handler(PageHandler):
    def do_GET(self):
        name = self.path.lstrip("/")
        if name == "":
            videos = "".join(
                f"<video muted autoplay loop src={name} style='position: absolute; left: 0; top: {2 * SIDE * row}px'></video>"
                for row, name in enumerate(self.server.files))
            self.answer(200, f"<body style='margin: 0'>{videos}<img src=last.png>".encode(), "text/html")
        elif name == "last.png":
            # The page is loaded, and the browser looks at it, when this has come.
            self.server.requested.acquire(timeout=20)
            time.sleep(2)
            self.answer(404)
        elif name in self.server.files:
            self.answer(200, self.server.files[name], "video/" + name.rpartition(".")[2])
            self.server.sent.add(name)
            if len(self.server.sent) == len(self.server.files):
                self.server.requested.release()
        else:
            self.answer(404)


class BrowserTests(PictureTestCase):
    def shown(self, program, files):
        """What a browser shows of videos, one below the other: the rows of its pixels."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads, server.files = True, files
        server.requested, server.sent = threading.Semaphore(0), set()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        profile = tempfile.mkdtemp(prefix=program)
        page, image = f"http://127.0.0.1:{server.server_address[1]}/", self.folder / f"{program}.png"
        # A browser's window has parts of its own.
        size = (600, 2 * SIDE * len(files) + 200)
        words = chromium(profile, f"--screenshot={image}", "--window-size={},{}".format(*size), page=page)
        if program != "chromium":
            pathlib.Path(profile, "user.js").write_text('user_pref("media.autoplay.default", 0);\n')
            words = [program, "--headless", "--no-remote", "--profile", profile, "--screenshot", image,
                     "--window-size={},{}".format(*size), page]
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, "DBUS_SESSION_BUS_ADDRESS": "", "HOME": profile})
        try:
            process.wait(60)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            server.shutdown()
            server.server_close()
            shutil.rmtree(profile, ignore_errors=True)
        pixels = command("ffmpeg", "-v", "error", "-i", image, "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
        return [pixels[start:start + 3 * size[0]] for start in range(0, len(pixels), 3 * size[0])]

    def test_browsers_show_them_too(self):
        files = {}
        for source, filters in [
            (("bt601", "pc"), ""), (("bt601", "tv"), ""), (("bt709", "tv"), ""), (("bt709", "pc"), ""),
            (("bt601", "pc"), ",setsar=4/3"),
        ]:
            film = self.colored("a.mkv", *source, filters)
            for file in self.make(("--input", film, "--fps", "max"), ["webm", "mp4"]):
                files["-".join(source) + ("-wide" if filters else "") + file.suffix] = pathlib.Path(file).read_bytes()
        for program in ("chromium", "firefox-esr"):
            rows = self.shown(program, files)
            for place, name in enumerate(files):
                width = SIDE * 4 // 3 if "wide" in name else SIDE
                with self.subTest(program, name=name):
                    self.assertColors(
                        {(x, y): tuple(rows[2 * SIDE * place + SIDE * y + SIDE // 2][3 * (width * x + width // 2):][:3])
                         for y in range(2) for x in range(4)}, BLOCKS, f"{program}: {name}")
