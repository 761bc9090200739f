name=accents
. ./tests/lib.sh
equal "$(slug 'Café au lait')" caf-au-lait
finish
