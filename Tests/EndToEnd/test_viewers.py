"""A hall of viewers by WebRTC, on Pion."""

import pathlib

from support import media, network, pion
from support.webrtc import Process, WebRTCTestCase, free_port


class HallTests(WebRTCTestCase):
    LATER = True

    @staticmethod
    def holds(process):
        """Descriptors, threads and resident bytes of a process."""
        folder = pathlib.Path(f"/proc/{process.pid}")
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        return len(list((folder / "fd").iterdir())), int(fields[17]), int(fields[21]) * 4096

    def test_viewers_come_and_go(self):
        """Some hundreds, a hundred at a time: each gets frames, and nothing is left of them but what they have counted."""
        program = pion.build("whep_pion", self.folder)
        port = free_port()
        running = self.publish("-o", "a.webm", "--serve", f"{network.ADDRESS}:{port}", "--serve-webrtc", "150")
        running.wait_for_file(self.folder / "a.webm", 10_000)

        def churn():
            viewers = self.ended(Process(program, "churn", f"http://{network.ADDRESS}:{port}/whep", 100, 4))
            found = self.wait("the viewers", lambda: viewers.last("churn"), running)
            self.assertEqual(found["dark"], 0, viewers.text)
            self.assertGreater(found["sessions"], 100)
            self.wait("their end", lambda: self.output(running, "webrtc").get("viewers") == 0, running)
            return self.holds(running.process)

        held = [churn(), churn()]
        # Pieces of memory remain that other sizes do not fit into: at first 12 MB, then less and less. A leak grows as before.
        while held[-1][2] - held[-2][2] > 8 << 20 and len(held) < 6:
            held.append(churn())
        self.assertLessEqual(held[-1][2] - held[-2][2], 8 << 20, [memory for *_, memory in held])
        self.wait("few files", lambda: self.holds(running.process)[0] <= held[0][0] + 3, running)
        self.assertLessEqual(held[-1][1], held[0][1], "threads")
        self.end(running)
        times = media.times(self.folder / "a.webm")
        gaps = [later - earlier for earlier, later in zip(times, times[1:])]
        # A busy machine leaves frames out; a recorder that waits for viewers would leave out seconds.
        self.assertLess(max(gaps), 1)
