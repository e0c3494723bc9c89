# SPDX-License-Identifier: Apache-2.0
"""One pyserial client of bench/serial_clients: the classic protocol, one read a frame.

usage: pyserial_reader.py PORT FRAME_SIZE FRAME_COUNT ACK EXPECTED_FILE
Compares with bytes made beforehand (made on the fly, JSF32 costs 700 ns a word in Python).
Prints: seconds, CPU seconds, wrong frames.
"""
import struct
import sys
import time

import serial


def main() -> int:
    port, size, count, ack = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    with open(sys.argv[5], "rb") as file:
        expected = memoryview(file.read())
    wrong = 0
    with serial.Serial(port, timeout=5) as link:
        cpu, start = time.thread_time(), time.monotonic()
        link.write(struct.pack("<IIB", size, count, ack))
        for frame in range(count):
            data = link.read(size)
            wrong += data != expected[frame * size : (frame + 1) * size]
            if ack:
                link.write(b"\x06")
        print(time.monotonic() - start, time.thread_time() - cpu, wrong)
    return 0


if __name__ == "__main__":
    sys.exit(main())
