// SPDX-License-Identifier: Apache-2.0
// A USB device with one serial port, for Zephyr's device_next stack (3.7 and later).
#include "usb_serial.h"

#include <zephyr/kernel.h>
#include <zephyr/usb/usbd.h>

// pid.codes' numbers for tests: do not ship devices with them.
#define VENDOR 0x1209
#define PRODUCT 0x0004

USBD_DEVICE_DEFINE(link_usb, DEVICE_DT_GET(DT_NODELABEL(zephyr_udc0)), VENDOR, PRODUCT);
USBD_DESC_LANG_DEFINE(link_language);
USBD_DESC_MANUFACTURER_DEFINE(link_manufacturer, "Millrace");
USBD_DESC_PRODUCT_DEFINE(link_product, "Zephyr link");
// In units of 2 mA: 250 mA.
USBD_CONFIGURATION_DEFINE(link_full_speed, USB_SCD_SELF_POWERED, 125, NULL);
USBD_CONFIGURATION_DEFINE(link_high_speed, USB_SCD_SELF_POWERED, 125, NULL);

static void (*lost)(void);

// The context's type was renamed after 3.7; a pointer that is not used needs no name for it.
static void on_message(void* const context, const struct usbd_msg* const message) {
  (void)context;
  if (message->type == USBD_MSG_RESET || message->type == USBD_MSG_VBUS_REMOVED) lost();
}

static int add(const enum usbd_speed speed, struct usbd_config_node* configuration) {
  int error = usbd_add_configuration(&link_usb, speed, configuration);
  if (error == 0) error = usbd_register_class(&link_usb, "cdc_acm_0", speed, 1);
  if (error == 0) {
    error = usbd_device_set_code_triple(&link_usb, speed, USB_BCC_MISCELLANEOUS, 0x02, 0x01);
  }
  return error;
}

int usb_serial_start(void (*on_lost)(void)) {
  lost = on_lost;
  int error = usbd_add_descriptor(&link_usb, &link_language);
  if (error == 0) error = usbd_add_descriptor(&link_usb, &link_manufacturer);
  if (error == 0) error = usbd_add_descriptor(&link_usb, &link_product);
  if (error == 0 && usbd_caps_speed(&link_usb) == USBD_SPEED_HS) {
    error = add(USBD_SPEED_HS, &link_high_speed);
  }
  if (error == 0) error = add(USBD_SPEED_FS, &link_full_speed);
  if (error == 0) error = usbd_msg_register_cb(&link_usb, (usbd_msg_cb_t)on_message);
  if (error == 0) error = usbd_init(&link_usb);
  if (error == 0) error = usbd_enable(&link_usb);
  return error;
}

const struct device* usb_serial_uart(void) { return DEVICE_DT_GET(DT_NODELABEL(cdc_acm_uart0)); }
