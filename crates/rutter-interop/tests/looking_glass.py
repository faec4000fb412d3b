"""Drives Chromium through its DevTools: axe checks each page in light and dark, wide and on a phone; keys alone reach
everything; an EventSource waits for a change. Arguments: the address of the looking glass, a folder for the pictures, a
member, another member, a destination, and the port of the DevTools."""

import asyncio
import base64
import importlib.util
import itertools
import json
import pathlib
import sys
import urllib.request

import websockets

site, folder, one, two, destination, port = sys.argv[1:]
folder = pathlib.Path(folder)
PAGES = {
    "members": "",
    "member": f"member/{one}",
    "receives": f"receives/{two}",
    "explanation": f"explain/{destination}",
    "rejected": "rejected",
    "history": "history",
    "sources": "sources",
    "nothing": "search/nobody",
}
# Pages end with their content, never with a wait for it.
READY = "document.querySelector('main:not([aria-busy]) h1') !== null"
FOCUS = """(() => {
  const element = document.activeElement, style = getComputedStyle(element);
  return {
    name: element === document.body ? "" : element.id || element.textContent.trim(),
    visible: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
  };
})()"""


# A day of samples in place of those of the daemon, which has run for a minute only: an hour without samples, a session that
# went down, and a burst of UPDATEs. The page must break none of the rules that its server sends.
A_DAY = """(() => {
  globalThis.broken = [];
  addEventListener("securitypolicyviolation", (event) => broken.push(`${event.violatedDirective} ${event.sourceFile}`));
  const ask = globalThis.fetch;
  globalThis.fetch = async (path, ...more) => {
    const asked = /api\\/v1\\/history(\\?neighbor=(.*))?$/.exec(path);
    if (!asked) return ask(path, ...more);
    const every = asked[2] ? 300 : 60, now = Math.floor(Date.now() / 1000), rows = [];
    for (let age = 86400 - every; age >= 0; age -= every) {
      const hour = age / 3600;
      if (hour > 8 && hour < 9) continue;
      const down = hour > 3 && hour < 4;
      const wave = Math.round(2000 * Math.sin(hour / 3));
      const common = { "unix-s": now - age, accepted: (down ? 880000 : 1010000) + wave, rejected: 4200 + Math.round(wave / 20) };
      if (age < 86400 - every) common["updates-received-per-s"] = hour > 15 && hour < 15.5 ? 912.25 : 40 + wave / 100;
      rows.push(asked[2] ? { kind: "neighbor-sample", address: asked[2], ...common }
        : { kind: "sample", ...common, prefixes: 960000 + wave, established: down ? 23 : 24, "bytes-sent-per-s": 1000 * (common["updates-received-per-s"] ?? 0) });
    }
    return new Response(JSON.stringify({ rows, truncated: false }));
  };
})()"""
CHARTS = """[...document.querySelectorAll("svg.chart")].map((chart) => ({
  words: chart.getAttribute("aria-label"),
  pieces: [...chart.querySelectorAll("path.line")].map((line) => line.getAttribute("d").split("M").length - 1),
  size: chart.getBoundingClientRect().width,
}))"""


# On a narrow screen each cell has its heading before it.
BROKEN_LABELS = """[...document.querySelectorAll("td")].filter((cell) => {
  const label = getComputedStyle(cell, "::before");
  return parseFloat(label.height) > 1.9 * parseFloat(label.fontSize);
}).map((cell) => cell.dataset.label)"""


class Page:
    def __init__(self, socket):
        self.socket = socket
        self.numbers = itertools.count(1)

    async def call(self, method, **parameters):
        number = next(self.numbers)
        await self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(await self.socket.recv())
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer)
                return answer["result"]

    async def value(self, expression):
        result = await self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, (expression[:200], result)
        return result["result"].get("value")

    async def until(self, expression):
        for _ in range(600):
            if await self.value(expression):
                return
            await asyncio.sleep(0.1)
        text = await self.value("document.body.innerText")
        raise AssertionError(f"never true: {expression}\n{text}")

    async def open(self, hash):
        # A page of its own, so that nothing is left from the one before.
        await self.call("Page.navigate", url="about:blank")
        await self.call("Page.navigate", url=f"{site}/#/{hash}")
        await self.until(f"location.href.startsWith('http') && {READY}")

    async def screen(self, width, height, scheme):
        await self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        await self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    async def key(self, key, code, text=None):
        for kind in ["keyDown", "keyUp"]:
            with_text = {"text": text} if text and kind == "keyDown" else {}
            await self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **with_text)

    async def tab(self):
        await self.key("Tab", 9)
        return await self.value(FOCUS)

    async def enter(self):
        await self.key("Enter", 13, "\r")

    async def picture(self, name):
        answer = await self.call("Page.captureScreenshot", format="png")
        (folder / f"{name}.png").write_bytes(base64.b64decode(answer["data"]))


async def check_pages(page):
    folder.mkdir(parents=True, exist_ok=True)
    package = importlib.util.find_spec("axe_playwright_python").submodule_search_locations[0]
    axe = (pathlib.Path(package) / "axe.min.js").read_text()
    problems = []
    a_day = await page.call("Page.addScriptToEvaluateOnNewDocument", source=A_DAY)
    for width, scheme in [(1280, "light"), (1280, "dark"), (500, "light"), (390, "light"), (390, "dark")]:
        await page.screen(width, 900, scheme)
        for name, hash in PAGES.items():
            await page.open(hash)
            await page.value(axe + "\n0")
            violations = await page.value("axe.run().then((result) => result.violations)")
            where = f"{name}, {width} pixels, {scheme}"
            for rule in violations:
                nodes = [node["html"][:200] for node in rule["nodes"]]
                problems.append(f"{where}: {rule['id']}: {rule['help']}: {nodes}")
            overflow = await page.value("document.documentElement.scrollWidth - innerWidth")
            if overflow > 0:
                problems.append(f"{where}: {overflow} pixels wider than the screen")
            for label in await page.value(BROKEN_LABELS):
                problems.append(f"{where}: the label {label} is broken into several lines")
            for rule in await page.value("broken"):
                problems.append(f"{where}: the page breaks the policy {rule}")
            await page.picture(f"{name}-{width}-{scheme}")
    await check_charts(page)
    await page.call("Page.removeScriptToEvaluateOnNewDocument", identifier=a_day["identifier"])
    assert not problems, "\n".join(problems)


async def check_charts(page):
    for width, scheme in [(1280, "light"), (390, "dark")]:
        await page.screen(width, 900, scheme)
        await page.open("history")
        charts = await page.value(CHARTS)
        assert len(charts) == 5, charts
        for chart in charts:
            assert all(word in chart["words"] for word in [" at ", "lowest", "highest", "Times without samples: 1"]), chart
            # The hour without samples is a gap in each line.
            assert all(pieces == 2 for pieces in chart["pieces"]), chart
            assert 250 < chart["size"] < width, chart
        assert "Prefixes: " in charts[0]["words"], charts
        assert "912.25" in charts[2]["words"], charts
        text = await page.value("document.body.innerText")
        assert "No samples were taken from" in text, text
        # The table has a row for each hour, and opens by a key.
        await page.value("document.querySelector('summary').focus()")
        await page.enter()
        rows = await page.value("[...document.querySelectorAll('details[open] tbody tr')].length")
        assert 23 <= rows <= 26, rows
        await page.picture(f"history-table-{width}-{scheme}")
    await page.open(f"member/{one}")
    charts = await page.value(CHARTS)
    assert len(charts) == 2 and "Rejected routes: " in charts[0]["words"], charts


async def check_keys(page):
    await page.screen(1280, 900, "light")
    await page.open("")
    order = []
    for _ in range(30):
        focus = await page.tab()
        if not focus["name"]:
            break  # the end of the page
        assert focus["visible"], f"the focus on {focus['name']!r} cannot be seen"
        order.append(focus["name"])
    first = ["Skip to the content", "Looking glass", "query", "Search", "Members", "Rejected routes", "History", "Sources"]
    assert order[: len(first)] == first, order
    # Then the headings that sort the table, and its links.
    assert "Received" in order and any(name.startswith("AS") for name in order), order

    # Enter follows a link: the first Tab reaches the one to the content.
    await page.open("")
    assert (await page.tab())["name"] == "Skip to the content"
    await page.enter()
    assert await page.value("document.activeElement.id") == "main"

    # The samples of the daemon itself, which has just begun.
    await page.open("history")
    text = await page.value("document.body.innerText")
    assert "One is taken each minute" in text or "A sample each minute" in text, text

    # A search, with keys alone. The focus goes to the heading of the answer.
    await page.open("")
    for _ in range(3):
        await page.tab()
    await page.call("Input.insertText", text=destination)
    await page.enter()
    await page.until(f"{READY} && document.activeElement.tagName === 'H1'")
    assert "Routes, best first" in await page.value("document.body.innerText")


async def check_search(page):
    # The address of a session leads to its member, though the table has no route to the peering LAN.
    await page.open(f"search/{one}")
    await page.until(f"{READY} && location.hash.startsWith('#/member/')")
    # The AS number of a member leads to its sessions, too.
    title = await page.value("document.querySelector('h1').textContent")
    await page.open(f"search/{title.rsplit(', ', 1)[1]}")
    await page.until(f"{READY} && document.querySelector('main a[href^=\"#/member/\"]') !== null")
    assert "Sessions: " in await page.value("document.body.innerText")


async def watch_a_change(page):
    await page.open("")
    await page.value(
        "globalThis.changes = [];"
        "globalThis.events = new EventSource('api/v1/events?kind=announced');"
        "events.addEventListener('announced', (event) => changes.push(JSON.parse(event.data).prefix)); 0"
    )
    await page.until("events.readyState === EventSource.OPEN")
    # The test announces a route now.
    print("watching", flush=True)
    await page.until("changes.includes('45.13.2.0/24')")
    print("seen", flush=True)


async def main():
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
        target = next(one for one in json.load(answer) if one["type"] == "page")
    async with websockets.connect(target["webSocketDebuggerUrl"], max_size=None) as socket:
        page = Page(socket)
        await page.call("Page.enable")
        await check_pages(page)
        await check_keys(page)
        await check_search(page)
        await watch_a_change(page)


asyncio.run(main())
