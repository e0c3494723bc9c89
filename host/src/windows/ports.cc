// SPDX-License-Identifier: Apache-2.0
// SetupAPI knows who stands behind a port, the registry's SERIALCOMM map which ports there are at
// all: drivers that register with neither class nor interface (and Wine) appear only there.
#include "millrace/host/ports.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>

#include "instance_id.h"
#include "windows/handle.h"
// After windows.h:
#include <cfgmgr32.h>
#include <setupapi.h>

namespace millrace::host {
namespace {

// GUID_DEVINTERFACE_COMPORT and the device setup class Ports (Microsoft, system-defined classes).
constexpr GUID kComPortInterface = {
    0x86e0d1e0, 0x8089, 0x11d0, {0x9c, 0xe4, 0x08, 0x00, 0x3e, 0x30, 0x1f, 0x73}};
constexpr GUID kPortsClass = {
    0x4d36e978, 0xe325, 0x11ce, {0xbf, 0xc1, 0x08, 0x00, 0x2b, 0xe1, 0x03, 0x18}};

using Text = std::array<wchar_t, 512>;

std::string property(HDEVINFO set, SP_DEVINFO_DATA& device, DWORD which) {
  Text text{};
  if (!::SetupDiGetDeviceRegistryPropertyW(set, &device, which, nullptr,
                                           reinterpret_cast<BYTE*>(text.data()),
                                           sizeof text - sizeof(wchar_t), nullptr)) {
    return "";
  }
  return to_utf8(text.data());
}

std::string registry_text(HKEY key, const wchar_t* name) {
  Text text{};
  DWORD size = sizeof text - sizeof(wchar_t);
  if (::RegQueryValueExW(key, name, nullptr, nullptr, reinterpret_cast<BYTE*>(text.data()),
                         &size) != ERROR_SUCCESS) {
    return "";
  }
  return to_utf8(text.data());
}

std::string port_name(HDEVINFO set, SP_DEVINFO_DATA& device) {
  const HKEY key =
      ::SetupDiOpenDevRegKey(set, &device, DICS_FLAG_GLOBAL, 0, DIREG_DEV, KEY_QUERY_VALUE);
  if (key == INVALID_HANDLE_VALUE) return "";
  std::string name = registry_text(key, L"PortName");
  ::RegCloseKey(key);
  return name;
}

std::string instance_id(DEVINST device) {
  Text text{};
  if (::CM_Get_Device_IDW(device, text.data(), static_cast<ULONG>(text.size()) - 1, 0) !=
      CR_SUCCESS) {
    return "";
  }
  return to_utf8(text.data());
}

void identify(HDEVINFO set, SP_DEVINFO_DATA& device, PortIdentity& port) {
  const std::string id = instance_id(device.DevInst);
  InstanceId parsed = parse_instance_id(id);
  if (parsed.is_usb && parsed.serial_number.empty()) {
    // One interface of a composite device: the number is in its parent's id.
    DEVINST parent = 0;
    if (::CM_Get_Parent(&parent, device.DevInst, 0) == CR_SUCCESS) {
      const InstanceId above = parse_instance_id(instance_id(parent));
      if (above.vid == parsed.vid && above.pid == parsed.pid) {
        parsed.serial_number = above.serial_number;
      }
    }
  }
  port.description = property(set, device, SPDRP_FRIENDLYNAME);
  if (port.description.empty()) port.description = property(set, device, SPDRP_DEVICEDESC);
  port.manufacturer = property(set, device, SPDRP_MFG);
  port.driver = property(set, device, SPDRP_SERVICE);
  port.is_usb = parsed.is_usb;
  port.vid = parsed.vid;
  port.pid = parsed.pid;
  port.serial_number = parsed.serial_number;
  // In the form of Linux, PLACE:CONFIGURATION.INTERFACE, so that a board's two ports are told
  // apart the same way.
  if (parsed.interface >= 0) port.usb_path = fmt::format("{}:1.{}", id, parsed.interface);
}

void add_set(const GUID& guid, DWORD flags, std::vector<PortIdentity>& ports) {
  const HDEVINFO set = ::SetupDiGetClassDevsW(&guid, nullptr, nullptr, flags);
  if (set == INVALID_HANDLE_VALUE) return;
  SP_DEVINFO_DATA device{};
  device.cbSize = sizeof device;
  for (DWORD i = 0; ::SetupDiEnumDeviceInfo(set, i, &device); ++i) {
    PortIdentity port;
    port.path = port_name(set, device);
    const bool known = std::any_of(ports.begin(), ports.end(), [&](const PortIdentity& other) {
      return other.path == port.path;
    });
    if (known || port.path.rfind("COM", 0) != 0) continue;  // LPT1 is in the class as well
    identify(set, device, port);
    ports.push_back(std::move(port));
  }
  ::SetupDiDestroyDeviceInfoList(set);
}

void add_serialcomm(std::vector<PortIdentity>& ports) {
  HKEY key = nullptr;
  if (::RegOpenKeyExW(HKEY_LOCAL_MACHINE, L"HARDWARE\\DEVICEMAP\\SERIALCOMM", 0, KEY_QUERY_VALUE,
                      &key) != ERROR_SUCCESS) {
    return;
  }
  for (DWORD i = 0;; ++i) {
    Text name{};
    Text value{};
    auto name_size = static_cast<DWORD>(name.size());
    DWORD value_size = sizeof value - sizeof(wchar_t);
    DWORD type = 0;
    if (::RegEnumValueW(key, i, name.data(), &name_size, nullptr, &type,
                        reinterpret_cast<BYTE*>(value.data()), &value_size) != ERROR_SUCCESS) {
      break;
    }
    PortIdentity port;
    port.path = to_utf8(value.data());
    const bool known = std::any_of(ports.begin(), ports.end(), [&](const PortIdentity& other) {
      return other.path == port.path;
    });
    if (type == REG_SZ && !known && !port.path.empty()) ports.push_back(std::move(port));
  }
  ::RegCloseKey(key);
}

}  // namespace

Result<std::vector<PortIdentity>> list_ports(const std::string&) {
  std::vector<PortIdentity> ports;
  add_set(kComPortInterface, DIGCF_PRESENT | DIGCF_DEVICEINTERFACE, ports);
  add_set(kPortsClass, DIGCF_PRESENT, ports);
  add_serialcomm(ports);
  // COM2 before COM10.
  std::sort(ports.begin(), ports.end(), [](const PortIdentity& a, const PortIdentity& b) {
    return a.path.size() != b.path.size() ? a.path.size() < b.path.size() : a.path < b.path;
  });
  return ports;
}

// Windows does not tell who holds a COM port.
std::vector<std::string> holders_of(const std::string&, const std::string&) { return {}; }

}  // namespace millrace::host
