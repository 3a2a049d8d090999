#!/usr/bin/env bash
# Make an HFST optimized-lookup analyser out of a compiled Apertium analyser.
#
#   scripts/build-fst.sh OUT.hfstol AUTOMORF.bin
#
# AUTOMORF.bin is an analyser as Apertium's language packages install it, for example
# /usr/share/apertium/apertium-es-gl/gl-es.automorf.bin. OUT.hfstol is unweighted and is what
# --mt-fst takes. The analyser's licence stays that of the package it comes from.
#
# Needs lt-print (Debian: lttoolbox-dev) and the command line tools of HFST (Debian: hfst).
set -euo pipefail

fail() {
    printf 'build-fst: %s\n' "$*" >&2
    exit 1
}

[ "$#" -eq 2 ] || fail 'usage: build-fst.sh OUT.hfstol AUTOMORF.bin'
out=$1
automorf=$2

for tool in lt-print hfst-txt2fst hfst-disjunct hfst-fst2fst awk; do
    command -v -- "$tool" >/dev/null ||
        fail "$tool is not there: apt-get install -y --no-install-recommends hfst lttoolbox-dev"
done
[ -r "$automorf" ] || fail "cannot read $automorf"
[ -d "$(dirname -- "$out")" ] || fail "no directory for $out"

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

# A compiled dictionary has several sections (words, punctuation, pieces that join), printed one
# after the other with a line of dashes between them. HFST would make a transducer of each, and a
# look-up reads the first transducer of a file only: so each gets a file here, and a union below.
lt-print -H -- "$automorf" >"$work/all.att" 2>"$work/messages" ||
    fail "lt-print cannot read $automorf: $(head -n 1 "$work/messages")"
awk -v stem="$work/section" '
    BEGIN { file = stem "-1.att"; n = 1 }
    /^--/ { close(file); n++; file = stem "-" n ".att"; next }
    { print > file }
' "$work/all.att"

united=
for section in "$work"/section-*.att; do
    [ -s "$section" ] || continue
    one=${section%.att}.hfst
    hfst-txt2fst -e '@0@' -i "$section" -o "$one"
    if [ -z "$united" ]; then
        united=$one
    else
        hfst-disjunct -1 "$united" -2 "$one" -o "$work/next.hfst"
        mv -- "$work/next.hfst" "$work/united.hfst"
        united=$work/united.hfst
    fi
done
[ -n "$united" ] || fail "no analyses in $automorf"

# Not minimised: that makes the file several times larger.
hfst-fst2fst -O -i "$united" -o "$work/out.hfstol"
mv -- "$work/out.hfstol" "$out"
