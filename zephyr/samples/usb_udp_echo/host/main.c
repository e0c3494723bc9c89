// SPDX-License-Identifier: Apache-2.0
// The echo of the sample on this machine, at two ports that the system chooses: for tests. Prints
// "echo PORT counters PORT" and serves until it is killed.
#include <pthread.h>
#include <stdio.h>

#include "echo.h"

static struct echo_counts echo_counts, own_counts;

static void* serve_counters(void* argument) {
  struct echo_counts* const counts[] = {&own_counts, &echo_counts};
  while (echo_counters_serve_one(*(const int*)argument, counts, 2) == 0) {
  }
  return NULL;
}

static int port_of(int handle) {
  struct sockaddr_in address;
  socklen_t length = sizeof(address);
  if (getsockname(handle, (struct sockaddr*)&address, &length) < 0) return -1;
  return ntohs(address.sin_port);
}

int main(void) {
  const int echo = echo_open(0);
  int counters = echo_open(0);
  pthread_t thread;
  if (echo < 0 || counters < 0 || pthread_create(&thread, NULL, serve_counters, &counters) != 0) {
    fprintf(stderr, "cannot open two UDP ports\n");
    return 1;
  }
  printf("echo %d counters %d\n", port_of(echo), port_of(counters));
  fflush(stdout);
  return echo_serve(echo, &echo_counts) < 0;
}
