// SPDX-License-Identifier: Apache-2.0
// Against the kernel's own answers, in a network namespace of the test: there it may set who may
// ping, and nothing of the machine is touched.
#include "millrace/capture/pinger.h"

#include <gmock/gmock.h>
#include <linux/capability.h>
#include <linux/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

namespace millrace::capture {
namespace {

// Runs `f` in a child with a loopback interface of its own; its result is the exit code.
template <class F>
int in_namespace(const char* ping_groups, F f) {
  const pid_t child = fork();
  if (child == 0) {
    const bool is_root = geteuid() == 0;
    if (unshare(is_root ? CLONE_NEWNET : CLONE_NEWNET | CLONE_NEWUSER) != 0) _exit(100);
    std::ofstream("/proc/sys/net/ipv4/ping_group_range") << ping_groups;
    const int any = socket(AF_INET, SOCK_DGRAM, 0);
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    if (ioctl(any, SIOCSIFFLAGS, &request) != 0) _exit(101);
    _exit(f());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  return syscall(SYS_capset, &header, none) == 0;
}

int count_fifty_answers() {
  PingOptions options;
  options.address = "127.0.0.1";
  options.count = 50;
  options.interval_ms = 1;
  auto pinger = open_pinger(options);
  if (!pinger) return 1;
  const std::atomic<bool> stop{false};
  const PingResult result = (*pinger)->run(stop);
  if (result.sent != 50 || result.answered != 50) return 2;
  return result.rtt.count() == 50 && result.trouble.empty() ? 0 : 3;
}

TEST(Pinger, CountsAnswersOfTheLoopback) { EXPECT_EQ(in_namespace("0 0", count_fifty_answers), 0); }

TEST(Pinger, StopsWhenItIsTold) {
  EXPECT_EQ(in_namespace("0 0",
                         [] {
                           PingOptions options;
                           options.address = "127.0.0.1";
                           auto pinger = open_pinger(options);
                           if (!pinger) return 1;
                           const std::atomic<bool> stop{true};
                           return (*pinger)->run(stop).sent == 0 ? 0 : 2;
                         }),
            0);
}

// Nobody may have a datagram socket, as on Debian; root has raw ones.
TEST(Pinger, CountsAnswersOverARawSocket) {
  EXPECT_EQ(in_namespace("1 0", count_fifty_answers), 0);
}

TEST(Pinger, WithoutPermissionNamesTheSetting) {
  EXPECT_EQ(in_namespace("1 0",
                         [] {
                           if (!drop_capabilities()) return 3;
                           PingOptions options;
                           options.address = "127.0.0.1";
                           const auto pinger = open_pinger(options);
                           if (pinger) return 1;
                           return pinger.error().message.find("net.ipv4.ping_group_range") !=
                                          std::string::npos
                                      ? 0
                                      : 2;
                         }),
            0);
}

TEST(Pinger, RefusesWhatIsNoAddress) {
  for (const char* bad : {"", "x", "1.2.3", "::1", "192.168.7.256"}) {
    PingOptions options;
    options.address = bad;
    const auto pinger = open_pinger(options);
    ASSERT_FALSE(pinger);
    EXPECT_EQ(pinger.error().code, host::ErrorCode::usage);
  }
}

}  // namespace
}  // namespace millrace::capture
