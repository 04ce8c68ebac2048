/* SPDX-License-Identifier: MIT */
/* blob_image.h -- the code that is injected, as the build made it: an ELF file in
 * memory. */
#ifndef SEEP_TARGET_BLOB_IMAGE_H
#define SEEP_TARGET_BLOB_IMAGE_H

#include <stddef.h>

extern const unsigned char blob_image[];
extern const size_t blob_image_bytes;

#endif
