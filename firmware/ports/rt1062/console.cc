// SPDX-License-Identifier: Apache-2.0
// Polled, without FIFO: a program that measures must not have interrupts of its own console.
#include "firmware/ports/rt1062/console.h"

#include "firmware/ports/rt1062/rt1062_registers.h"

namespace millrace::rt1062 {

void set_up_console() {
  CCM_CCGR3.set_bits(CCM_CCGR3_LPUART6);
  constexpr uint32_t kAlt2 = 2;  // LPUART6 on GPIO_AD_B0_02 (TX) and GPIO_AD_B0_03 (RX)
  IOMUXC_SW_PAD_CTL_PAD_GPIO_AD_B0_02.write(IOMUXC_PAD_SRE | IOMUXC_PAD_DSE_3 | IOMUXC_PAD_SPEED_3);
  IOMUXC_SW_PAD_CTL_PAD_GPIO_AD_B0_03.write(IOMUXC_PAD_PKE | IOMUXC_PAD_PUE |
                                            IOMUXC_PAD_PUS_22K_UP | IOMUXC_PAD_HYS);
  IOMUXC_SW_MUX_CTL_PAD_GPIO_AD_B0_02.write(kAlt2);
  IOMUXC_SW_MUX_CTL_PAD_GPIO_AD_B0_03.write(kAlt2);
  IOMUXC_LPUART6_TX_SELECT_INPUT.write(1);
  IOMUXC_LPUART6_RX_SELECT_INPUT.write(1);

  // 24 MHz / (16 * 13) = 115385 baud, 0.16 % fast. OSR holds the ratio less one.
  LPUART6_CTRL.write(0);
  LPUART6_BAUD.write(15u << 24 | 13u);
  LPUART6_CTRL.write(LPUART_CTRL_TE | LPUART_CTRL_RE);
}

void print_char(char c) {
  while ((LPUART6_STAT.read() & LPUART_STAT_TDRE) == 0) {
  }
  LPUART6_DATA.write(static_cast<uint8_t>(c));
}

void print(const char* text) {
  for (; *text != '\0'; ++text) print_char(*text);
}

void print_fixed(uint32_t value, unsigned decimals, unsigned width) {
  char digits[16];
  unsigned count = 0;
  do {
    if (count == decimals && decimals != 0) digits[count++] = '.';
    digits[count++] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while ((value != 0 || count <= decimals) && count < sizeof(digits));
  for (unsigned i = count; i < width; ++i) print_char(' ');
  while (count > 0) print_char(digits[--count]);
}

void print_decimal(uint32_t value, unsigned width) { print_fixed(value, 0, width); }

void print_signed(int32_t value, unsigned width) {
  if (value >= 0) return print_decimal(static_cast<uint32_t>(value), width);
  uint32_t magnitude = 0u - static_cast<uint32_t>(value);
  unsigned digits = 2;
  for (uint32_t rest = magnitude; rest >= 10; rest /= 10) ++digits;
  for (unsigned i = digits; i < width; ++i) print_char(' ');
  print_char('-');
  print_decimal(magnitude);
}

void print_hex(uint32_t value) {
  for (unsigned shift = 32; shift > 0; shift -= 4) {
    print_char("0123456789abcdef"[value >> (shift - 4) & 15]);
  }
}

void print_padded(const char* text, unsigned width) {
  unsigned count = 0;
  for (; *text != '\0'; ++text, ++count) print_char(*text);
  for (; count < width; ++count) print_char(' ');
}

void flush_console() {
  while ((LPUART6_STAT.read() & LPUART_STAT_TC) == 0) {
  }
}

}  // namespace millrace::rt1062
