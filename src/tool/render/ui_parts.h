/* SPDX-License-Identifier: MIT */
/* ui_parts.h -- scripts, styles and the page of ui/, as they are built into the tool.
 *
 * Made by tools/embed-ui.py: each script is one text, its modules put together in order.
 * A hash is what a Content-Security-Policy calls it: 'sha256-…'. All end with a NUL. */
#ifndef SEEP_RENDER_UI_PARTS_H
#define SEEP_RENDER_UI_PARTS_H

extern const char ui_svg_js[], ui_svg_css[];
extern const char ui_page_js[], ui_page_css[], ui_page_html[];
extern const char ui_page_js_hash[], ui_page_css_hash[];

#endif
