// SPDX-License-Identifier: Apache-2.0
// Numbers of the USB network classes that both ends need: CDC-ECM (USB CDC subclass specification
// for Ethernet Control Model devices 1.2) and CDC-NCM (Network Control Model 1.0), and the one
// structure that a host asks an NCM device for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::link {

// Subclasses and protocols, CDC 1.2 table 4, NCM 1.0 tables 4-1 and 4-2.
inline constexpr uint8_t kCdcSubclassEcm = 0x06;
inline constexpr uint8_t kCdcSubclassNcm = 0x0d;
inline constexpr uint8_t kCdcDataProtocolNtb = 0x01;  // data interface of NCM; 0 for ECM

// Class-specific requests: ECM 1.2 table 6, NCM 1.0 table 6-2.
inline constexpr uint8_t kSetEthernetPacketFilter = 0x43;
inline constexpr uint8_t kGetNtbParameters = 0x80;
inline constexpr uint8_t kGetNtbFormat = 0x83;
inline constexpr uint8_t kSetNtbFormat = 0x84;
inline constexpr uint8_t kGetNtbInputSize = 0x85;
inline constexpr uint8_t kSetNtbInputSize = 0x86;

// Notifications: ECM 1.2 table 11.
inline constexpr uint8_t kNetworkConnection = 0x00;
inline constexpr uint8_t kConnectionSpeedChange = 0x2a;

// Bits of SET_ETHERNET_PACKET_FILTER, ECM 1.2 table 8.
inline constexpr uint16_t kPacketFilterPromiscuous = 0x01;
inline constexpr uint16_t kPacketFilterAllMulticast = 0x02;
inline constexpr uint16_t kPacketFilterDirected = 0x04;
inline constexpr uint16_t kPacketFilterBroadcast = 0x08;
inline constexpr uint16_t kPacketFilterMulticast = 0x10;

inline constexpr size_t kEthernetHeaderBytes = 14;
inline constexpr size_t kMaxEthernetFrame = 1514;  // 1500 bytes of payload, no FCS on the USB

inline constexpr uint16_t kNtbFormat16 = 0x01;  // bit 0 of bmNtbFormatsSupported
inline constexpr uint16_t kNtbFormat32 = 0x02;
inline constexpr uint32_t kMinNtbInputSize = 2048;  // NCM 1.0, 6.2.1: dwNtbInMaxSize is not below

// The answer to GET_NTB_PARAMETERS, NCM 1.0 table 6-3. "In" is towards the host.
struct NtbParameters {
  static constexpr size_t kBytes = 28;
  uint16_t formats = kNtbFormat16;
  uint32_t in_max_bytes = 0;
  uint16_t in_divisor = 4;
  uint16_t in_payload_remainder = 0;
  uint16_t in_ndp_alignment = 4;
  uint32_t out_max_bytes = 0;
  uint16_t out_divisor = 4;
  uint16_t out_payload_remainder = 0;
  uint16_t out_ndp_alignment = 4;
  uint16_t out_max_datagrams = 0;  // 0: no limit
};

// Returns false, and leaves *out alone, if `size` is below kBytes or wLength says less. Values are
// those of the wire; NtbLimits (ntb16.h) copes with any of them.
bool decode(const uint8_t* bytes, size_t size, NtbParameters* out);
void encode(const NtbParameters& in, uint8_t (&bytes)[NtbParameters::kBytes]);

}  // namespace millrace::link
