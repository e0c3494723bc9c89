// SPDX-License-Identifier: Apache-2.0
// A network stack that answers: ARP, ICMP echo, UDP echo, its counters, DHCP and mDNS. It opens
// nothing and remembers nothing; every frame it sends but the announcement is the answer to one
// received, goes back to where that came from, and is built at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "firmware/app/echo/packet.h"
#include "firmware/app/sampler/sampler.h"
#include "firmware/port/frame_port.h"
#include "millrace/link/echo_counters.h"

namespace millrace::firmware {

class EchoStack {
 public:
  // Work that a device would do for each echo, between request and reply; its result is counted.
  using Load = uint32_t (*)(const uint8_t* payload, size_t size);

  // `port` outlives this.
  EchoStack(FramePort& port, const NetworkConfig& config, Load load = nullptr);

  // Takes all frames there are as long as there is room for answers, `max_frames` at most. True if
  // there was one. Call again and again.
  bool poll(unsigned max_frames = 64);

  // Answers requests of spec/sampler_control.md for `sampler`, which outlives this; nullptr: nobody
  // does.
  void set_sampler(Sampler* sampler) { sampler_ = sampler; }
  uint32_t echo_replies() const { return counters_[link::EchoCounter::echo_replies]; }

  // A frame from the destination address on. For tests; poll() does it.
  void on_frame(const uint8_t* frame, size_t size);

  // With those of the port.
  link::EchoCounters counters() const;

 private:
  void announce();
  void on_arp(const uint8_t* frame, size_t size);
  void on_ipv4(const uint8_t* frame, size_t size);
  void on_icmp(const uint8_t* frame, const uint8_t* message, size_t size);
  void on_udp(const uint8_t* frame, const uint8_t* datagram, size_t size, bool to_us);
  void on_udp_to_us(const uint8_t* frame, const uint8_t* datagram, size_t size);
  void echo(const uint8_t* frame, const uint8_t* datagram, size_t size);
  void send_counters(const uint8_t* frame, const uint8_t* datagram, size_t size);
  void answer_sampler(const uint8_t* frame, const uint8_t* datagram, size_t size);
  void send_unreachable(const uint8_t* frame);
  void on_dhcp(const uint8_t* payload, size_t size);
  void on_mdns(const uint8_t* frame, const uint8_t* datagram, size_t size);
  uint8_t* reserve(size_t bytes);
  void write_headers(uint8_t* out, const uint8_t* mac, uint32_t destination, uint8_t protocol,
                     size_t payload);
  void send_udp(uint8_t* out, const uint8_t* mac, uint32_t destination, uint16_t source_port,
                uint16_t destination_port, size_t payload);
  void count(link::EchoCounter counter) { ++counters_[counter]; }

  FramePort& port_;
  NetworkConfig config_;
  Load load_;
  Sampler* sampler_ = nullptr;
  link::EchoCounters counters_;
  uint16_t next_id_ = 0;
};

}  // namespace millrace::firmware
