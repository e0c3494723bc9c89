// SPDX-License-Identifier: Apache-2.0
// Record -> URB event or packet -> transfer -> device. One pass, one thread, memory that does not
// grow with the file: see Budget for what devices may take.
#include "millrace/capture/capture_analysis.h"

#include <algorithm>
#include <unordered_map>

#include "device_tracker.h"
#include "packet_assembler.h"
#include "urb_tracker.h"
#include "usb_decode.h"
#include "usbmon_text.h"

namespace millrace::capture {
namespace {

using host::Result;

constexpr size_t kMaxDevices = 256;
constexpr int64_t kBackwardsNs = 1'000'000;
// A capture can claim any time. Between these (1896 and 2116) differences do not overflow.
constexpr int64_t kEarliestNs = -(int64_t{1} << 61), kLatestNs = int64_t{1} << 62;
// usbmon's text has seconds modulo 4,096 as 32 bits of us; modulo 65,536 in kernels before 2.6.38,
// where those bits overflow.
constexpr int64_t kTextWrapNs = INT64_C(4'096'000'000) * 1000;
constexpr int64_t kOldTextWrapNs = (int64_t{1} << 32) * 1000;

// Asks before each read, so that a file whose blocks hold no record is left as soon as any other.
class QuestionedSource final : public ByteSource {
 public:
  QuestionedSource(ByteSource* source, const std::function<bool()>& keep_going)
      : source_(source), keep_going_(keep_going) {}

  host::Result<size_t> read(uint8_t* to, size_t size) override {
    if (keep_going_ && !keep_going_()) {
      return host::Error{host::ErrorCode::interrupted, "interrupted"};
    }
    return source_->read(to, size);
  }

 private:
  ByteSource* source_;
  const std::function<bool()>& keep_going_;
};

class Analyser final : public PacketSink {
 public:
  explicit Analyser(const AnalysisOptions& options)
      : options_(options), urbs_(this), packets_(this), analysis_(new CaptureAnalysis) {}

  void run(CaptureReader& reader) {
    CaptureRecord record;
    uint64_t dropped = 0;
    while (reader.next(&record)) {
      if (reader.dropped() != dropped) {  // before this record
        dropped = reader.dropped();
        for (auto& [key, device] : devices_) device->lost();
      }
      record.time_ns = std::clamp(record.time_ns, kEarliestNs, kLatestNs);
      take(record);
    }
    analysis_->format = reader.format();
    analysis_->file = reader.counters();
    analysis_->file.lines_bad = lines_bad_;
    if (reader.error()) analysis_->error = reader.error();
  }

  std::unique_ptr<CaptureAnalysis> finish() {
    packets_.finish();
    urbs_.finish();
    analysis_->urbs = urbs_.totals();
    analysis_->packets = packets_.totals();
    for (auto& [key, device] : devices_) analysis_->devices.push_back(device->finish());
    std::sort(analysis_->devices.begin(), analysis_->devices.end(),
              [](const auto& a, const auto& b) { return weight(*a) > weight(*b); });
    return std::move(analysis_);
  }

  void submitted(DeviceKey device, uint8_t endpoint, TransferType type, int64_t time_ns,
                 uint32_t asked, bool asked_known) override {
    DeviceTracker* tracker = tracker_of(device);
    if (tracker == nullptr || !tracker->submitted(endpoint, type, time_ns, asked, asked_known)) {
      ++analysis_->devices_ignored;
    }
  }
  void completed(const Transfer& transfer) override {
    if (!is_wanted(transfer.device)) return;
    DeviceTracker* tracker = tracker_of(transfer.device);
    bool described = false;
    if (tracker == nullptr || !tracker->completed(transfer, &described)) {
      ++analysis_->devices_ignored;
      return;
    }
    if (!described || transfer.packets == 0) return;
    for (size_t i = 0; i < tracker->info().endpoints.size(); ++i) {
      const EndpointInfo& info = tracker->info().endpoints[i];
      if (!info.is_described || info.max_packet == 0) continue;
      packets_.describe(transfer.device, endpoint_of(i), info.type, info.max_packet);
    }
  }
  void abandoned(DeviceKey device, uint8_t endpoint, int64_t time_ns, uint32_t asked,
                 Abandoned why) override {
    DeviceTracker* tracker = tracker_of(device);
    if (tracker != nullptr) tracker->abandoned(endpoint, time_ns, asked, why);
  }
  void lost(DeviceKey device) override {
    DeviceTracker* tracker = tracker_of(device);
    if (tracker != nullptr) tracker->lost();
  }
  void nak(DeviceKey device, uint8_t endpoint, int64_t) override {
    if ((endpoint & 0x0f) == 0 || !is_wanted(device)) return;
    DeviceTracker* tracker = tracker_of(device);
    if (tracker != nullptr) tracker->nak(endpoint);
  }
  void data_packet(DeviceKey device, uint8_t endpoint, int64_t, uint64_t index, uint32_t) override {
    if ((endpoint & 0x0f) == 0 || !is_wanted(device)) return;
    DeviceTracker* tracker = tracker_of(device);
    if (tracker != nullptr) tracker->data_packet(endpoint, index);
  }

 private:
  // Turnarounds first: pings before the rest, many before few; then traffic.
  static std::pair<uint64_t, uint64_t> weight(const DeviceAnalysis& device) {
    uint64_t pairs = 0;
    if (!device.turnarounds.empty()) {
      const Turnaround& first = *device.turnarounds.front();
      const bool is_by_content = first.by != PairedBy::order && first.by != PairedBy::arp;
      pairs = first.times.count() + (is_by_content ? uint64_t{1} << 40 : 0);
    }
    return {pairs, device.bytes};
  }

  bool is_wanted(DeviceKey key) const {
    return (!options_.device || *options_.device == key) &&
           (!options_.bus || *options_.bus == bus_of(key));
  }

  DeviceTracker* tracker_of(DeviceKey key) {
    if (last_ != nullptr && key == last_key_) return last_;
    const auto found = devices_.find(key);
    if (found == devices_.end()) {
      if (devices_.size() == kMaxDevices) return nullptr;
      auto added = std::make_unique<DeviceTracker>(key, &options_, &budget_);
      last_ = devices_.emplace(key, std::move(added)).first->second.get();
    } else {
      last_ = found->second.get();
    }
    last_key_ = key;
    return last_;
  }

  void take(const CaptureRecord& record) {
    if (record.link_type != counted_type_ || type_count_ == nullptr) {
      counted_type_ = record.link_type;
      auto& types = analysis_->link_types;
      type_count_ = types.size() < 64 || types.count(counted_type_) != 0 ? &types[counted_type_]
                                                                         : &rare_types_;
    }
    ++*type_count_;
    UrbEvent event;
    DecodeStatus status = DecodeStatus::not_an_urb;
    switch (record.link_type) {
      case kLinkUsbmon48:
      case kLinkUsbmon64:
        status = decode_usbmon(record, &event);
        break;
      case kLinkUsbPcap:
        status = decode_usbpcap(record, &event);
        break;
      case kLinkUsbmonText:
        take_line(record);
        return;
      case kLinkUsb20:
      case kLinkUsb20Low:
      case kLinkUsb20Full:
      case kLinkUsb20High:
        take_time(record.time_ns);
        packets_.take(record);
        return;
      default:
        ++analysis_->foreign_records;
        return;
    }
    if (status == DecodeStatus::event) {
      event.time_ns = std::clamp(event.time_ns, kEarliestNs, kLatestNs);
      take(event);
    } else if (status != DecodeStatus::not_an_urb) {
      ++analysis_->undecoded;
    }
  }

  void take_line(const CaptureRecord& record) {
    UrbEvent event;
    const std::string_view line(reinterpret_cast<const char*>(record.data), record.size);
    if (!parse_usbmon_line(line, &event)) {
      if (line.find_first_not_of(" \t\r") != std::string_view::npos) ++lines_bad_;
      return;
    }
    if (event.time_ns >= kTextWrapNs) text_wrap_ns_ = kOldTextWrapNs;
    event.time_ns += text_wraps_ns_;
    // A time beyond that clock was not written by usbmon, and nor were a million years.
    if (has_time_ && event.time_ns < analysis_->last_ns - text_wrap_ns_ / 2 &&
        text_wraps_ns_ < kLatestNs / 2) {
      text_wraps_ns_ += text_wrap_ns_;
      event.time_ns += text_wrap_ns_;
    }
    take(event);
  }

  void take(const UrbEvent& event) {
    take_time(event.time_ns);
    if (is_wanted(device_key(event.bus, event.device))) urbs_.take(event);
  }

  void take_time(int64_t time_ns) {
    if (!has_time_) {
      has_time_ = true;
      analysis_->first_ns = analysis_->last_ns = time_ns;
      return;
    }
    if (time_ns < analysis_->last_ns - kBackwardsNs) ++analysis_->times_backwards;
    analysis_->first_ns = std::min(analysis_->first_ns, time_ns);
    analysis_->last_ns = std::max(analysis_->last_ns, time_ns);
  }

  AnalysisOptions options_;
  Budget budget_;
  UrbTracker urbs_;
  PacketAssembler packets_;
  std::unique_ptr<CaptureAnalysis> analysis_;
  std::unordered_map<DeviceKey, std::unique_ptr<DeviceTracker>> devices_;
  DeviceTracker* last_ = nullptr;
  DeviceKey last_key_ = 0;
  uint16_t counted_type_ = 0;
  uint64_t* type_count_ = nullptr;
  uint64_t rare_types_ = 0;
  uint64_t lines_bad_ = 0;
  int64_t text_wrap_ns_ = kTextWrapNs, text_wraps_ns_ = 0;  // of one; of all
  bool has_time_ = false;
};

}  // namespace

const Turnaround* CaptureAnalysis::headline(const DeviceAnalysis** device) const {
  for (const auto& candidate : devices) {
    if (candidate->turnarounds.empty()) continue;
    *device = candidate.get();
    return candidate->turnarounds.front().get();
  }
  return nullptr;
}

Result<std::unique_ptr<CaptureAnalysis>> analyse(ByteSource* source, const std::string& name,
                                                 const AnalysisOptions& options) {
  QuestionedSource questioned(source, options.keep_going);
  Result<std::unique_ptr<CaptureReader>> reader = read_capture(&questioned, name);
  if (!reader) return reader.error();
  Analyser analyser(options);
  analyser.run(**reader);
  return analyser.finish();
}

}  // namespace millrace::capture
