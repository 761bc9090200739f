name=accents
. ./tests/lib.sh
equal "$(slug 'Café au lait')" cafe-au-lait
finish
