#!/usr/bin/env bash
# Install the model servers of other projects that tests talk to into a directory of their own.
#
#   scripts/test-servers.sh DIRECTORY
#   MTARENA_TEST_SERVERS=DIRECTORY pytest tests/plugin -k server
#
# Not into the environment of the tests: llmock brings a pytest plug-in that would load there.
set -euo pipefail
[ $# = 1 ] || { echo "usage: $0 DIRECTORY" >&2; exit 2; }
directory=$1

python3 -m venv "$directory"
"$directory/bin/pip" install -q --disable-pip-version-check \
    llmock==0.2.2 xllamacpp==2026.10.11549 gguf==0.19.0

if command -v npm >/dev/null; then
    npm install --silent --no-audit --no-fund --prefix "$directory" @copilotkit/aimock@1.43.0
else
    echo "no npm: the tests against @copilotkit/aimock will skip" >&2
fi
