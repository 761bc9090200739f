#!/bin/sh
set -eu
. "$(dirname "$0")/lib/slug.sh"
slugify "$1"
