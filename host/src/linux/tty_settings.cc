// SPDX-License-Identifier: Apache-2.0
#include "linux/tty_settings.h"

#include <array>

namespace millrace::host {
namespace {

struct Flag {
  const char* name;
  tcflag_t termios::*field;
  tcflag_t mask;
  bool wanted;
  const char* effect;  // when it is not as wanted
};

// ECHOE, ECHOK, ECHONL and the like act only with ICANON or ECHO and are not told apart.
constexpr std::array kFlags = {
    Flag{"IGNBRK", &termios::c_iflag, IGNBRK, false, "breaks are ignored"},
    Flag{"BRKINT", &termios::c_iflag, BRKINT, false, "a break flushes both queues"},
    Flag{"IGNPAR", &termios::c_iflag, IGNPAR, false, "bytes with a framing error vanish"},
    Flag{"PARMRK", &termios::c_iflag, PARMRK, false, "0xff arrives twice"},
    Flag{"INPCK", &termios::c_iflag, INPCK, false, "bytes with a parity error arrive as 0x00"},
    Flag{"ISTRIP", &termios::c_iflag, ISTRIP, false, "bit 7 of every byte is cleared"},
    Flag{"INLCR", &termios::c_iflag, INLCR, false, "0x0a arrives as 0x0d"},
    Flag{"IGNCR", &termios::c_iflag, IGNCR, false, "0x0d vanishes"},
    Flag{"ICRNL", &termios::c_iflag, ICRNL, false, "0x0d arrives as 0x0a"},
    Flag{"IUCLC", &termios::c_iflag, IUCLC, false, "upper-case letters arrive in lower case"},
    Flag{"IXON", &termios::c_iflag, IXON, false, "0x11 and 0x13 vanish; 0x13 stops the output"},
    Flag{"IXOFF", &termios::c_iflag, IXOFF, false, "0x11 and 0x13 are sent into the data"},
    Flag{"IXANY", &termios::c_iflag, IXANY, false, "any byte restarts stopped output"},
    Flag{"OPOST", &termios::c_oflag, OPOST, false, "0x0a is sent as 0x0d 0x0a"},
    Flag{"ECHO", &termios::c_lflag, ECHO, false, "what the device sends is sent back to it"},
    Flag{"ECHONL", &termios::c_lflag, ECHONL, false, "0x0a is sent back to the device"},
    Flag{"ICANON", &termios::c_lflag, ICANON, false,
         "bytes are held until a line ends; 0x04, 0x08, 0x15, 0x7f edit it"},
    Flag{"ISIG", &termios::c_lflag, ISIG, false, "0x03, 0x1a and 0x1c become signals"},
    Flag{"IEXTEN", &termios::c_lflag, IEXTEN, false, "0x0f and 0x16 vanish"},
    Flag{"PARENB", &termios::c_cflag, PARENB, false, "a parity bit is added"},
    Flag{"CSTOPB", &termios::c_cflag, CSTOPB, false, "two stop bits"},
    Flag{"CRTSCTS", &termios::c_cflag, CRTSCTS, false, "output stops while CTS is low"},
    Flag{"CREAD", &termios::c_cflag, CREAD, true, "nothing is received"},
    Flag{"CLOCAL", &termios::c_cflag, CLOCAL, true, "opening waits for DCD, its loss hangs up"},
};

struct Rate {
  speed_t code;
  unsigned value;
};
constexpr std::array kRates = {
    Rate{B134, 134},         Rate{B300, 300},         Rate{B1200, 1200},
    Rate{B2400, 2400},       Rate{B4800, 4800},       Rate{B9600, 9600},
    Rate{B19200, 19200},     Rate{B38400, 38400},     Rate{B57600, 57600},
    Rate{B115200, 115200},   Rate{B230400, 230400},   Rate{B460800, 460800},
    Rate{B500000, 500000},   Rate{B576000, 576000},   Rate{B921600, 921600},
    Rate{B1000000, 1000000}, Rate{B1152000, 1152000}, Rate{B1500000, 1500000},
    Rate{B2000000, 2000000}, Rate{B2500000, 2500000}, Rate{B3000000, 3000000},
    Rate{B3500000, 3500000}, Rate{B4000000, 4000000},
};

}  // namespace

unsigned baud_rate(const termios& settings) {
  const speed_t code = ::cfgetospeed(&settings);
  for (const Rate& rate : kRates) {
    if (rate.code == code) return rate.value;
  }
  return 0;
}

bool has_raw_read_limits(const termios& settings) {
  return settings.c_cc[VMIN] == 1 && settings.c_cc[VTIME] == 0;
}

void set_raw_read_limits(termios* settings) {
  settings->c_cc[VMIN] = 1;
  settings->c_cc[VTIME] = 0;
}

termios raw_settings(const termios& found) {
  termios raw = found;
  for (const Flag& flag : kFlags) {
    tcflag_t& field = raw.*flag.field;
    field = flag.wanted ? (field | flag.mask) : (field & ~flag.mask);
  }
  raw.c_cflag = (raw.c_cflag & ~static_cast<tcflag_t>(CSIZE)) | CS8;
  set_raw_read_limits(&raw);
  if (baud_rate(found) < 115200) {
    ::cfsetispeed(&raw, B115200);
    ::cfsetospeed(&raw, B115200);
  }
  return raw;
}

std::vector<TermiosDifference> differences_from_raw(const termios& settings) {
  std::vector<TermiosDifference> differences;
  for (const Flag& flag : kFlags) {
    const bool on = (settings.*flag.field & flag.mask) != 0;
    if (on != flag.wanted) {
      differences.push_back({std::string(flag.name) + (on ? " on" : " off"), flag.effect});
    }
  }
  const tcflag_t size = settings.c_cflag & CSIZE;
  if (size != CS8) {
    differences.push_back({size == CS7   ? "CS7"
                           : size == CS6 ? "CS6"
                                         : "CS5",
                           "bytes are cut to fewer than 8 bits"});
  }
  return differences;
}

}  // namespace millrace::host
