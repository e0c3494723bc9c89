# SPDX-License-Identifier: Apache-2.0
"""`millrace device pc`: its path first, a link that follows a replug, a clean end."""
import os
import signal

import e2e

with e2e.temporary_folder() as folder:
    link = os.path.join(folder, "device")
    with e2e.PcDevice("--link", link, "--faults", "pc:?unplug=50@65536") as device:
        assert os.readlink(link) == device.path
        e2e.millrace("serial", "bench", link, "--frames", 16)
        # The link of a device that lives is not taken from it.
        e2e.fails("device", "pc", "--link", link, expect=1, says=(link, device.path, "in use"))
        e2e.millrace("serial", "bench", link, "--frames", 64, expect=3).says("replugged")
        moved = e2e.read_line(device.process.stdout)
        assert moved != device.path and os.readlink(link) == moved
        e2e.millrace("serial", "bench", link, "--frames", 64)
        device.process.send_signal(signal.SIGINT)
        assert device.process.wait(e2e.DEADLINE_S) == 0
        assert not os.path.lexists(link), "the link is left behind"
        open(link, "w").close()
        e2e.fails("device", "pc", "--link", link, expect=1, says=link)
        other = os.path.join(folder, "other")
        os.symlink(link, other)
        e2e.fails("device", "pc", "--link", other, expect=1, says="which is no terminal")
        assert os.readlink(other) == link

# A link that leads nowhere, as one of a device that was killed, is replaced; at the end only a link
# of one's own is taken away.
with e2e.temporary_folder() as folder:
    link = os.path.join(folder, "device")
    os.symlink("/dev/pts/1000000", link)
    with e2e.PcDevice("--link", link) as device:
        assert os.readlink(link) == device.path
        os.unlink(link)
        open(link, "w").close()
    assert os.path.isfile(link) and not os.path.islink(link), "removed what others put there"
