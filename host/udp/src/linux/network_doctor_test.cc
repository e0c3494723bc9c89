// SPDX-License-Identifier: Apache-2.0
#include "millrace/udp/network_doctor.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "network_interface.h"

namespace millrace::udp {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// /sys and /proc of a machine with one USB network interface.
class NetworkDoctor : public ::testing::Test {
 protected:
  NetworkDoctor() {
    static int number = 0;
    root_ = fs::temp_directory_path() /
            ("millrace_doctor_" + std::to_string(::getpid()) + "_" + std::to_string(++number));
    const fs::path usb = root_ / "sys/devices/usb1/1-2", net = usb / "1-2:1.0/net/usb0";
    write(usb / "idVendor", "1209");
    write(usb / "idProduct", "0001");
    write(usb / "product", "Millrace echo");
    write(net / "address", "0e:e9:e5:00:00:01");
    write(net / "mtu", "1500");
    write(net / "flags", "0x1003");
    write(net / "carrier", "1");
    write(net / "cdc_ncm/rx_max", "8192");
    fs::create_directories(root_ / "sys/drivers/cdc_ncm");
    fs::create_symlink(root_ / "sys/drivers/cdc_ncm", usb / "1-2:1.0/driver");
    fs::create_symlink(usb / "1-2:1.0", net / "device");
    fs::create_directories(root_ / "sys/class/net");
    fs::create_symlink(net, root_ / "sys/class/net/usb0");
    write(root_ / "sys/class/net/eth0/mtu", "1500");
    facts_.sys = (root_ / "sys").string();
    facts_.proc = (root_ / "proc").string();
    facts_.addresses = [](const std::string&) {
      return std::vector<std::string>{"192.168.7.2/24"};
    };
    net_ = net;
  }
  ~NetworkDoctor() override { fs::remove_all(root_); }

  static void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text << '\n';
  }
  NetworkDevice only(const std::string& which) {
    const auto report = examine_network(which, facts_);
    EXPECT_TRUE(report);
    EXPECT_EQ(report->devices.size(), 1u);
    return report->devices.at(0);
  }

  fs::path root_, net_;
  NetworkFacts facts_;
};

TEST_F(NetworkDoctor, AGoodDeviceIsFoundByAnyName) {
  for (const char* which : {"", "usb0", "usb:1209:0001", "0E:E9:E5:00:00:01"}) {
    const NetworkDevice d = only(which);
    EXPECT_EQ(d.name, "usb0");
    EXPECT_EQ(d.driver, "cdc_ncm");
    EXPECT_EQ(d.vid, 0x1209);
    EXPECT_EQ(d.product, "Millrace echo");
    EXPECT_TRUE(d.is_up && d.has_carrier);
    ASSERT_EQ(d.ntb.size(), 1u);
    EXPECT_EQ(d.ntb[0].second, "8192");
    EXPECT_THAT(d.findings, IsEmpty());
  }
}

TEST_F(NetworkDoctor, DownAndWithoutAddressComesWithTheIpLines) {
  write(net_ / "flags", "0x1002");
  facts_.addresses = nullptr;
  const NetworkDevice d = only("");
  ASSERT_EQ(d.findings.size(), 2u);
  EXPECT_TRUE(d.findings[0].is_blocking && d.findings[1].is_blocking);
  EXPECT_EQ(d.findings[0].remedy, "sudo ip link set usb0 up");
  EXPECT_EQ(d.findings[1].remedy, "sudo ip addr add 192.168.7.2/24 dev usb0");
}

TEST_F(NetworkDoctor, NoCarrierSmallMtuAndTheNcmTimerAreTold) {
  write(net_ / "carrier", "0");
  write(net_ / "mtu", "576");
  write(net_ / "cdc_ncm/tx_timer_usecs", "400");
  const NetworkDevice d = only("");
  ASSERT_EQ(d.findings.size(), 3u);
  EXPECT_THAT(d.findings[0].sentence, HasSubstr("not connected"));
  EXPECT_THAT(d.findings[1].sentence, HasSubstr("no more than 548 bytes"));
  EXPECT_THAT(d.findings[2].sentence, HasSubstr("up to 400 us"));
}

TEST_F(NetworkDoctor, SettingsOfTheMachine) {
  write(root_ / "proc/sys/net/core/rmem_max", "212992");
  write(root_ / "proc/sys/net/ipv4/ping_group_range", "1\t0");
  write(root_ / "proc/modules", "nf_tables 315392 0 - Live 0x0");
  const auto report = examine_network("", facts_);
  ASSERT_TRUE(report);
  ASSERT_EQ(report->findings.size(), 3u);
  EXPECT_EQ(report->findings[0].remedy, "sudo sysctl -w net.core.rmem_max=4194304");
  EXPECT_THAT(report->findings[1].remedy, HasSubstr("ping_group_range"));
  EXPECT_THAT(report->findings[2].sentence, HasSubstr("firewall"));
}

TEST_F(NetworkDoctor, EveryUsualDriverIsKnownAndToldItsDatagramsATransfer) {
  for (const char* driver : {"cdc_ncm", "cdc_ether", "cdc_eem", "rndis_host", "r8152"}) {
    const fs::path link = root_ / "sys/devices/usb1/1-2/1-2:1.0/driver";
    fs::remove(link);
    fs::create_symlink(root_ / "sys/drivers" / driver, link);
    const NetworkDevice d = only("usb:1209:0001");
    EXPECT_EQ(d.driver, driver);
    const std::string name = driver;
    if (name == "cdc_ncm" || name == "cdc_ether") {
      EXPECT_THAT(d.findings, IsEmpty()) << driver;
      continue;
    }
    ASSERT_EQ(d.findings.size(), 1u) << driver;
    EXPECT_FALSE(d.findings[0].is_blocking);
    EXPECT_THAT(d.findings[0].sentence,
                HasSubstr(name == "r8152" ? "none of the usual" : "one datagram into a transfer"));
  }
}

TEST_F(NetworkDoctor, DropsOfAnInterfaceAreSummedAndNoneAreThereOfOthers) {
  write(net_ / "statistics/rx_dropped", "5");
  write(net_ / "statistics/rx_missed_errors", "20");
  write(net_ / "statistics/rx_fifo_errors", "100");
  write(net_ / "statistics/tx_dropped", "3");
  write(net_ / "statistics/tx_errors", "4");
  const HostDrops drops = interface_drops("usb0", facts_.sys);
  EXPECT_EQ(drops.interface_rx, 125u);
  EXPECT_EQ(drops.interface_tx, 7u);
  EXPECT_EQ(interface_drops("usb9", facts_.sys).interface_rx, 0u);
  EXPECT_EQ(interface_drops("", facts_.sys).interface_tx, 0u);
}

TEST_F(NetworkDoctor, AnAddressThatNobodyHasIsKnownByArp) {
  write(root_ / "proc/net/arp",
        "IP address       HW type     Flags       HW address            Mask     Device\n"
        "192.168.7.1      0x1         0x2         06:e9:e5:00:00:01     *        usb0\n"
        "192.168.7.9      0x1         0x0         00:00:00:00:00:00     *        usb0");
  EXPECT_TRUE(is_nobody("192.168.7.9", facts_.proc));
  EXPECT_FALSE(is_nobody("192.168.7.1", facts_.proc));
  EXPECT_FALSE(is_nobody("192.168.7.2", facts_.proc));
  EXPECT_FALSE(is_nobody("192.168.7.9", "/nowhere"));
}

TEST_F(NetworkDoctor, WhatIsNotThereIsSaid) {
  EXPECT_EQ(examine_network("usb7", facts_).error().code, host::ErrorCode::not_found);
  EXPECT_EQ(examine_network("usb:dead:beef", facts_).error().code, host::ErrorCode::not_found);
  for (const char* bad : {"usb:", "usb:12", "usb:12:", "usb:x:y", "usb:12345:1"}) {
    EXPECT_EQ(examine_network(bad, facts_).error().code, host::ErrorCode::usage) << bad;
  }
}

}  // namespace
}  // namespace millrace::udp
