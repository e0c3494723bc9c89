/* SPDX-License-Identifier: Apache-2.0
 * Takes the device's stream into a file:
 *   cc -std=c99 -I host/include docs/examples/link_receive.c -L build/release/host -lmillrace
 *   ./a.out /dev/ttyACM0 samples.bin
 * A third argument is said to the device first, on its text stream. */
#include <millrace/host/link_session_c.h>
#include <stdio.h>
#include <string.h>

enum { kData = 0, kText = 1, kTimeoutMs = 10000 };

static int receive(millrace_link* link, FILE* file) {
  for (;;) {
    const uint8_t* data = NULL;
    uint64_t size = 0;
    uint64_t offset = 0;
    switch (millrace_link_read(link, kData, kTimeoutMs, &data, &size, &offset)) {
      case MILLRACE_LINK_DATA:
        if (fwrite(data, 1, (size_t)size, file) != size) {
          perror("write");
          return 1;
        }
        break;
      case MILLRACE_LINK_GAP:
        fprintf(stderr, "%llu bytes are missing at offset %llu\n", (unsigned long long)size,
                (unsigned long long)offset);
        break;
      case MILLRACE_LINK_END:
        return 0;
      case MILLRACE_LINK_NOTHING:
        fprintf(stderr, "nothing came for 10 s\n");
        return 1;
      default:
        fprintf(stderr, "%s\n", millrace_link_error(link));
        return 1;
    }
    /* Now it is in the file, and the device may forget it. */
    millrace_link_consume(link, kData, (size_t)size);
  }
}

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    fprintf(stderr, "usage: link_receive PORT FILE [COMMAND]\n");
    return 2;
  }
  char error[300];
  millrace_link* link = millrace_link_open(argv[1], NULL, error, sizeof(error));
  if (link == NULL) {
    fprintf(stderr, "%s\n", error);
    return 3;
  }
  FILE* file = fopen(argv[2], "wb");
  int failed = file == NULL;
  if (failed) perror(argv[2]);
  if (!failed && argc == 4) {
    const char newline = '\n';
    const size_t size = strlen(argv[3]);
    failed = millrace_link_write(link, kText, (const uint8_t*)argv[3], size, 0, kTimeoutMs) < 0 ||
             millrace_link_write(link, kText, (const uint8_t*)&newline, 1, 1, kTimeoutMs) < 0;
  }
  if (!failed) failed = receive(link, file);
  millrace_link_close(link, 1);
  if (file != NULL && fclose(file) != 0) failed = 1;
  return failed;
}
