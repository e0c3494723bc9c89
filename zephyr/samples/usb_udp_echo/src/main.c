// SPDX-License-Identifier: Apache-2.0
// Three threads in blocking loops (echo on 4242 and on 7, counters on 4243), and main(), which
// gives the interface its address, starts the DHCP server and counts how often the link comes up.
#include <zephyr/kernel.h>
#include <zephyr/net/dhcpv4_server.h>
#include <zephyr/net/net_if.h>
#include <zephyr/net/socket.h>
#include <zephyr/sys/printk.h>

#include "echo.h"
#include "usb_network.h"

enum { STACK_BYTES = 3072, ECHO_PRIORITY = 0, COUNTERS_PRIORITY = 7, POLL_MS = 100 };

static struct echo_counts counts_4242, counts_7, counts_own, counts_link;

static void serve_port(void* port, void* counts, void* unused) {
  const uint16_t number = (uint16_t)(uintptr_t)port;
  while (1) {
    const int socket = echo_open(number);
    if (socket >= 0) {
      echo_serve(socket, counts);
      zsock_close(socket);
    }
    k_msleep(POLL_MS);
  }
}

static void serve_counters(void* unused1, void* unused2, void* unused3) {
  struct echo_counts* const counts[] = {&counts_own, &counts_4242, &counts_7, &counts_link};
  while (1) {
    const int socket = echo_open(ECHO_COUNTERS_PORT);
    if (socket >= 0) {
      while (echo_counters_serve_one(socket, counts, ARRAY_SIZE(counts)) == 0) {
      }
      zsock_close(socket);
    }
    k_msleep(POLL_MS);
  }
}

K_THREAD_DEFINE(echo_4242, STACK_BYTES, serve_port, (void*)ECHO_SAMPLE_PORT, &counts_4242, NULL,
                ECHO_PRIORITY, 0, 0);
K_THREAD_DEFINE(echo_7, STACK_BYTES, serve_port, (void*)ECHO_PORT, &counts_7, NULL, ECHO_PRIORITY,
                0, 0);
K_THREAD_DEFINE(echo_counters, STACK_BYTES, serve_counters, NULL, NULL, NULL, COUNTERS_PRIORITY, 0,
                0);

// What the sampler counts as events: replies, since start.
uint32_t echo_replies(void) {
  return counts_4242.values[ECHO_REPLIES] + counts_7.values[ECHO_REPLIES];
}

static int give_address(struct net_if* interface) {
  struct in_addr address, mask;
  if (zsock_inet_pton(AF_INET, CONFIG_ECHO_ADDRESS, &address) != 1 ||
      zsock_inet_pton(AF_INET, "255.255.255.0", &mask) != 1) {
    return -EINVAL;
  }
  if (net_if_ipv4_addr_add(interface, &address, NET_ADDR_MANUAL, 0) == NULL) return -ENOMEM;
  return net_if_ipv4_set_netmask_by_addr(interface, &address, &mask) ? 0 : -EINVAL;
}

static int serve_dhcp(struct net_if* interface) {
  struct in_addr host;
  if (zsock_inet_pton(AF_INET, CONFIG_ECHO_HOST_ADDRESS, &host) != 1) return -EINVAL;
  const int result = net_dhcpv4_server_start(interface, &host);
  return result == -EALREADY ? 0 : result;
}

int main(void) {
  struct net_if* const interface = net_if_get_default();
  if (interface == NULL) {
    printk("no network interface\n");
    return 0;
  }
  int error = give_address(interface);
  if (error != 0) printk("address %s: error %d\n", CONFIG_ECHO_ADDRESS, error);
  if (usb_network_start() != 0) return 0;
  printk("echoes UDP at %s, ports %d and %d; counters %d\n", CONFIG_ECHO_ADDRESS, ECHO_SAMPLE_PORT,
         ECHO_PORT, ECHO_COUNTERS_PORT);

  bool was_up = false;
  bool dhcp_runs = false;
  while (1) {
    const bool is_up = net_if_is_up(interface);
    if (is_up && !was_up) counts_link.values[ECHO_LINK_UPS]++;
    was_up = is_up;
    if (is_up && !dhcp_runs && IS_ENABLED(CONFIG_NET_DHCPV4_SERVER)) {
      error = serve_dhcp(interface);
      if (error != 0) printk("DHCP server: error %d\n", error);
      dhcp_runs = true;
    }
    k_msleep(POLL_MS);
  }
}
