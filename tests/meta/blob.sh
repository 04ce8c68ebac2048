#!/bin/bash
# SPDX-License-Identifier: MIT
# The image that seep attach injects: nothing in it may need what the process it comes
# into does not give. No TLS, no undefined symbol, no library, no relocation but those
# that the attacher makes, no page that is written and executed. The other back end of
# src/guest/rt is checked by symbols.sh.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
image=${SEEP_BUILD:-$root/build}/seep_blob.so
if [ "$(uname -m)" != x86_64 ]; then
	echo "skipped: seep attach knows x86-64 only"
	exit 77
fi
[ -e "$image" ] || { echo "$image is missing: make build"; exit 1; }
failed=0
checked=0
# none WHAT TEXT: there must be nothing.
none() {
	checked=$((checked + 1))
	[ -z "$2" ] || { echo "$1: $2"; failed=$((failed + 1)); }
}
# is WHAT GOT WANTED
is() {
	checked=$((checked + 1))
	[ "$2" = "$3" ] || { echo "$1: got $2, wanted $3"; failed=$((failed + 1)); }
}

segments=$(readelf -lW "$image")
none "a TLS segment" "$(awk '$1 == "TLS"' <<<"$segments")"
none "a loader" "$(awk '$1 == "INTERP"' <<<"$segments")"
is "segments: code, then data" "$(awk '$1 == "LOAD" { print $7 $8 }' <<<"$segments" | sed 's/0x.*//' | tr '\n' ' ')" "RE RW "
is "an unwind table of its own" "$(awk '$1 == "GNU_EH_FRAME"' <<<"$segments" | wc -l)" 1
none "undefined symbols" "$(nm -D --undefined-only "$image" 2>/dev/null | awk '{ print $NF }' | tr '\n' ' ')"
none "libraries" "$(readelf -dW "$image" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')"
relocations=$(readelf -rW "$image" | awk '$3 ~ /^R_/ { print $3 }' | sort | uniq -c | awk '{ print $2 }')
is "kinds of relocations" "$relocations" R_X86_64_RELATIVE
is "the config stands first in its data" \
	"$(dd if="$image" bs=1 count=8 skip=$(($(awk '$1 == "LOAD" { off = $2 } END { print off }' <<<"$segments"))) 2>/dev/null)" SEEPBLB1
# What it is injected with must be what was built: the tool carries it.
checked=$((checked + 1))
python3 - "$image" "$(dirname "$image")/seep" <<'EOF' || { echo "seep carries another image"; failed=$((failed + 1)); }
import sys
image = open(sys.argv[1], "rb").read()
sys.exit(0 if image in open(sys.argv[2], "rb").read() else 1)
EOF
echo "$checked checked, $failed failed"
[ $failed -eq 0 ]
