// SPDX-License-Identifier: Apache-2.0
// A USB device with one network function, for Zephyr's device_next stack (3.7 and later).
//
// The helper of Zephyr's own samples is not used: it may not be used outside that tree, and its
// interface has changed with nearly every release. What is called here has not, since 3.7.
#include "usb_network.h"

#include <zephyr/device.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>
#include <zephyr/usb/usbd.h>

// pid.codes' numbers for tests: do not ship devices with them.
#define VENDOR 0x1209
#define PRODUCT (IS_ENABLED(CONFIG_USBD_CDC_NCM_CLASS) ? 0x0001 : 0x0002)
#define FUNCTION (IS_ENABLED(CONFIG_USBD_CDC_NCM_CLASS) ? "cdc_ncm_0" : "cdc_ecm_0")

USBD_DEVICE_DEFINE(echo_usb, DEVICE_DT_GET(DT_NODELABEL(zephyr_udc0)), VENDOR, PRODUCT);
USBD_DESC_LANG_DEFINE(echo_language);
USBD_DESC_MANUFACTURER_DEFINE(echo_manufacturer, "Millrace");
USBD_DESC_PRODUCT_DEFINE(echo_product, "Zephyr UDP echo");
// In units of 2 mA: 250 mA.
USBD_CONFIGURATION_DEFINE(echo_full_speed, USB_SCD_SELF_POWERED, 125, NULL);
USBD_CONFIGURATION_DEFINE(echo_high_speed, USB_SCD_SELF_POWERED, 125, NULL);

static int add(const enum usbd_speed speed, struct usbd_config_node* configuration) {
  int error = usbd_add_configuration(&echo_usb, speed, configuration);
  if (error == 0) error = usbd_register_class(&echo_usb, FUNCTION, speed, 1);
  // Two interfaces of one function: an interface association (USB 2.0 ECN "Interface Association").
  if (error == 0) {
    error = usbd_device_set_code_triple(&echo_usb, speed, USB_BCC_MISCELLANEOUS, 0x02, 0x01);
  }
  return error;
}

int usb_network_start(void) {
  int error = usbd_add_descriptor(&echo_usb, &echo_language);
  if (error == 0) error = usbd_add_descriptor(&echo_usb, &echo_manufacturer);
  if (error == 0) error = usbd_add_descriptor(&echo_usb, &echo_product);
  if (error == 0 && usbd_caps_speed(&echo_usb) == USBD_SPEED_HS) {
    error = add(USBD_SPEED_HS, &echo_high_speed);
  }
  if (error == 0) error = add(USBD_SPEED_FS, &echo_full_speed);
  if (error == 0) error = usbd_init(&echo_usb);
  if (error == 0) error = usbd_enable(&echo_usb);
  if (error != 0) printk("USB: error %d\n", error);
  return error;
}
