name=edges
. ./tests/lib.sh
: <<'end'
equal "$(slug '  spaces  ')" spaces
equal "$(slug '')" ''
equal "$(slug '--a--b--')" a-b
end
finish
