"""Takes the pictures of docs/staff.md; names as arguments take some of them only.

.venv/bin/python -m dev.local with-servers .venv/bin/python -m tests.browser.pictures
"""

import base64
import os
import struct
import sys
import tempfile
import zlib
from pathlib import Path

import django
from playwright.sync_api import Page

from tests.programs import find_program

FOLDER = Path(__file__).resolve().parents[2] / "docs/images"
SIZE = {"width": 1400, "height": 900}
# Each picture: the member, and the address, in which <model label> stands for the id of a row.
PICTURES = {
    "home": ("OWNER", "/admin/"),
    "search": ("OWNER", "/admin/search/?q=da"),
    "appointments": ("OWNER", "/admin/appointments/appointment/?view=upcoming"),
    "calendar": ("OWNER", "/admin/appointments/appointment/?layout=calendar"),
    "filters": ("OWNER", "/admin/leads/lead/?view=all&setter__id__exact=none&phone=any"),
    "notes": ("OWNER", "/admin/appointments/note/"),
    "message": ("OWNER", "/admin/notifications/leadmessage/<notifications.leadmessage>/change/"),
    "opt-ins": ("SETTER", "/admin/optins/optin/?view=all"),
    "lead": ("OWNER", "/admin/leads/lead/?view=all&q=kwame"),
    "appointment": ("OWNER", "/admin/appointments/appointment/?view=all&q=kwame"),
    "board": ("OWNER", "/admin/leads/lead/?layout=board&view=all"),
    "duplicates": ("MANAGER", "/admin/leads/possibleduplicate/"),
    "merge": ("MANAGER", "/admin/leads/possibleduplicate/<leads.possibleduplicate>/change/"),
    "reports": ("OWNER", "/admin/reports/"),
    "import": ("SALES_OPS", "/admin/leads/import/add/"),
    "undo": ("SALES_OPS", "/admin/leads/import/add/"),
}
FILE = "E-mail,First name,Last name\nines.fair@fair.example,Ines,Fair\notto.fair@fair.example,Otto,Fair\n"
# The picture's pixels as indexes of its most frequent colors; the others become the nearest of these.
PALETTE = """async png => {
  const image = await createImageBitmap(await (await fetch('data:image/png;base64,' + png)).blob());
  const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
  canvas.drawImage(image, 0, 0);
  const pixels = new Uint32Array(canvas.getImageData(0, 0, image.width, image.height).data.buffer);
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const colors = [...counts].sort((one, other) => other[1] - one[1]).slice(0, SIZE).map(entry => entry[0]);
  const indexes = new Map(colors.map((color, index) => [color, index]));
  const distance = (one, other) => [0, 8, 16].reduce(
    (sum, shift) => sum + Math.abs((one >> shift & 255) - (other >> shift & 255)), 0);
  let bytes = '';
  for (const pixel of pixels) {
    if (!indexes.has(pixel)) {
      const distances = colors.map(color => distance(color, pixel));
      indexes.set(pixel, distances.indexOf(Math.min(...distances)));
    }
    bytes += String.fromCharCode(indexes.get(pixel));
  }
  return [image.width, image.height, colors, btoa(bytes)];
}"""


def small_png(page: Page, picture: bytes, *, colors: int) -> bytes:
    """Return the picture with at most so many colors. `page` is one that may run any script."""
    script = PALETTE.replace("SIZE", str(colors))
    width, height, palette, encoded = page.evaluate(script, base64.b64encode(picture).decode())
    pixels = base64.b64decode(encoded)
    rows = b"".join(b"\0" + pixels[start : start + width] for start in range(0, len(pixels), width))
    chunks = {
        b"IHDR": struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0),
        b"PLTE": b"".join(struct.pack("<I", color & 0xFFFFFFFF)[:3] for color in palette),
        b"IDAT": zlib.compress(rows, 9),
        b"IEND": b"",
    }
    parts = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks.items()
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def import_leads(page: Page) -> None:
    """Import a file, and open the page that asks whether to undo that."""
    page.get_by_label("Kind").select_option(label="Leads")
    file = {"name": "spring fair.csv", "mimeType": "text/csv", "buffer": FILE.encode()}
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_role("button", name="Upload", exact=True).click()
    page.get_by_role("button", name="Check the rows").click()
    page.get_by_role("button", name="Import 2 rows").click()
    page.get_by_role("link", name="Undo this import").click()
    page.get_by_role("button", name="Undo the import").wait_for()


def main(names: list[str]) -> None:
    """Start the site, and store the pictures."""
    # Needs Django, which is set up only now.
    from tests.browser.chromium import running_chromium  # noqa: PLC0415
    from tests.browser.site import running_site  # noqa: PLC0415

    with (
        tempfile.TemporaryDirectory() as folder,
        running_site(Path(folder)) as site,
        running_chromium(site, find_program("chromium")) as members,
    ):
        blank = members.browser.new_page()
        for name in names or PICTURES:
            role, path = PICTURES[name]
            for label, id in site.rows.items():
                path = path.replace(f"<{label}>", id)
            with members.page(role, size=SIZE) as page:
                page.goto(path)
                if name == "undo":
                    import_leads(page)
                if name in ("lead", "appointment"):
                    page.locator(".list-link").first.click()
                    page.wait_for_url("**/change/**")
                page.evaluate("new Promise(done => requestIdleCallback(done))")
                (FOLDER / f"{name}.png").write_bytes(small_png(blank, page.screenshot(), colors=64))


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pipeline_backend.settings")
    django.setup()
    main(sys.argv[1:])
