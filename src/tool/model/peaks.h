/* SPDX-License-Identifier: MIT */
/* peaks.h -- the peak of a sampled recording, corrected for being the highest of many
 * estimates. */
#ifndef SEEP_MODEL_PEAKS_H
#define SEEP_MODEL_PEAKS_H

#include <stdint.h>

#include "tool/model/prof.h"

/* The lowest mean number of live samples, of `drawn` in all, of which `samples` would be
 * the highest number that is seen; `samples` itself if nothing was replaced. */
double peaks_floor(double samples, double drawn);

/* The peak is what is live at the end, in the process and as each site's share. */
void peaks_are_now(struct prof *p, uint32_t process);

/* Corrects the peak of a sampled process as the recorder noted it, its sites' shares in
 * it and their own peaks, and sets its peak_error_bytes. Once for each process, after its
 * sites and its live bytes are known; does nothing to an exact one. */
void peaks_correct(struct prof *p, uint32_t process);

#endif
