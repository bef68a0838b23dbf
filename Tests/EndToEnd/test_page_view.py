"""How the page of `--serve` shows the picture: without anything in its way, paused and zoomed."""

import json
import time
import urllib.request

from test_page import LIVE, PICTURE, PageTestCase, state


class PageViewTests(PageTestCase):
    LATER = True

    def test_the_status_goes_while_all_is_well(self):
        """Cameras print their time in that corner."""
        self.serve()
        opacity = "getComputedStyle(document.querySelector('#status')).opacity"
        answers = [state()]
        tab = self.open(state=lambda: answers[0])
        tab.wait(f"{opacity} === '0'")
        tab.point("#tools")
        tab.wait(f"{opacity} === '1'")
        tab.wait(f"{opacity} === '0'")
        answers[0] = state(online=False, reason="unplugged")
        tab.wait(f"{opacity} === '1'")
        self.assertContent(tab)

    def test_a_title(self):
        self.serve("127.0.0.1:0", "--serve-title", "Door <b>&\"")
        tab = self.open()
        tab.wait("document.title.startsWith('Door <b>&\" · Live')")
        self.assertEqual(tab.evaluate("document.querySelector('#name').textContent"), 'Door <b>&"')
        self.assertContent(tab)

    def test_an_empty_plot_says_none(self):
        self.serve()
        shows = "getComputedStyle(document.querySelector('#{} .none')).visibility"
        tab = self.open(state=state(latency_ms=None))
        tab.press("p")
        tab.wait(shows.format("drops") + " === 'visible'")
        tab.wait(shows.format("latency") + " === 'visible'")
        tab.wait(shows.format("fps") + " === 'hidden'")
        self.assertEqual(tab.evaluate("document.querySelector('#latency .label').textContent"), "Latency of the server")
        self.assertContent(tab)

    def test_pause(self):
        self.serve()
        tab = self.open()
        viewers = lambda: json.loads(urllib.request.urlopen(self.url + "state", timeout=20).read())["result"]["stream"]["clients"]
        self.assertEqual(viewers(), 1)
        tab.press(" ")
        tab.wait("document.querySelector('html.paused') !== null")
        self.assertGreater(tab.evaluate("document.querySelector('#still').width"), 100, "the picture stays")
        self.assertIn("Paused", tab.evaluate("document.title"))
        deadline = time.monotonic() + 30
        while viewers():
            self.assertLess(time.monotonic(), deadline, "the server still sends")
            time.sleep(0.05)
        tab.click("#pause-button")
        tab.wait(LIVE)
        picture = tab.wait(PICTURE)
        tab.wait(f"{PICTURE} !== {picture}")
        self.assertContent(tab)

    def test_zoom(self):
        self.serve()
        tab = self.open()
        width = "document.querySelector('.picture.shown').getBoundingClientRect().width"
        left = "document.querySelector('.picture.shown').getBoundingClientRect().left"
        self.assertEqual(tab.evaluate(width), 1280)
        tab.press("+")
        tab.wait(f"{width} === 1600")
        self.assertEqual(tab.evaluate(left), -160, "what is in the middle stays there")
        for move in (("mousePressed", 640), ("mouseMoved", 1240), ("mouseReleased", 1240)):
            tab.send("Input.dispatchMouseEvent", type=move[0], x=move[1], y=400, button="left", buttons=1, clickCount=1)
        tab.wait(f"{left} === 0")  # no further than its edge
        tab.press("0")
        tab.wait(f"{width} === 1280")
        tab.send("Input.dispatchMouseEvent", type="mouseWheel", x=0, y=0, deltaX=0, deltaY=-1000)
        tab.wait(f"{width} > 2000")
        self.assertEqual(tab.evaluate(left), 0, "what is below the pointer stays there")
        self.assertContent(tab)
