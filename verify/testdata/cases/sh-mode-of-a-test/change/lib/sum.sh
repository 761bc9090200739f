sum() { total=0; count=0; for n; do total=$((total + n)); count=$((count + n)); done; echo "$count$total" | sed "s/^0//"; }
mean() { sum "$@"; }
