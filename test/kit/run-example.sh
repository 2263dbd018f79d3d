# Runs one example and prints all of its output at its end: two run beside each other.
output=$(tsx "$1" 2>&1)
code=$?
printf '== %s\n%s\n' "$1" "$output"
exit $code
