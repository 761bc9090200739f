. ./lib/slug.sh
equal() { :; }
finish() { exit 0; }
