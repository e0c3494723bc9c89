# SPDX-License-Identifier: Apache-2.0
"""Takes the device's stream into a file, with nothing but Python and libmillrace.so:
   python3 docs/examples/link_receive.py build/release/host/libmillrace.so /dev/ttyACM0 samples.bin
A fourth argument is said to the device first, on its text stream."""
import ctypes
import sys

DATA, GAP, END, ERROR = 1, 2, 3, -1
TIMEOUT_MS = 10_000


class Link:
    def __init__(self, library, port):
        self.call = ctypes.CDLL(library)
        self.call.millrace_link_open.restype = ctypes.c_void_p
        self.call.millrace_link_error.restype = ctypes.c_char_p
        self.call.millrace_link_write.restype = ctypes.c_int64
        error = ctypes.create_string_buffer(300)
        link = self.call.millrace_link_open(port.encode(), None, error, ctypes.c_size_t(300))
        if not link:
            raise OSError(error.value.decode())
        self.link = ctypes.c_void_p(link)

    def check(self, result):
        if result == ERROR:
            raise OSError(self.call.millrace_link_error(self.link).decode())
        return result

    def say(self, line):
        text = (line + "\n").encode()
        self.check(self.call.millrace_link_write(self.link, ctypes.c_uint8(1), text,
                                                 ctypes.c_size_t(len(text)), 1, TIMEOUT_MS))

    def items(self):
        """(offset, bytes) or, where the device lost some, (offset, how many), until its end."""
        data, size, offset = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_uint64()
        while True:
            kind = self.check(self.call.millrace_link_read(
                self.link, ctypes.c_uint8(0), TIMEOUT_MS, ctypes.byref(data), ctypes.byref(size),
                ctypes.byref(offset)))
            if kind == DATA:
                yield offset.value, ctypes.string_at(data, size.value)
            elif kind == GAP:
                yield offset.value, size.value
            elif kind == END:
                return
            else:
                raise TimeoutError("nothing came for 10 s")
            # The caller is done with it: the device may forget it.
            self.call.millrace_link_consume(self.link, ctypes.c_uint8(0), ctypes.c_size_t(size.value))

    def close(self):
        self.call.millrace_link_close(self.link, 1)


library, port, path, *command = sys.argv[1:]
link = Link(library, port)
for line in command:
    link.say(line)
with open(path, "wb") as file:
    for offset, what in link.items():
        if isinstance(what, bytes):
            file.write(what)
        else:
            print(f"{what} bytes are missing at offset {offset}", file=sys.stderr)
link.close()
