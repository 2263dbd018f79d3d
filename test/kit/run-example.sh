# Runs one example and prints all of its output at its end: two run beside each other. One whose first line says `needs Node 24`
# gets it where this Node is older, from the npm package `node`.
needed=$(head -n 1 "$1" | sed -n 's/.*needs Node \([0-9]*\).*/\1/p')
if [ -n "$needed" ] && [ "$(node -p 'process.versions.node.split(".")[0]')" -lt "$needed" ]; then
  output=$(npx --yes --package="node@$needed" -- tsx "$1" 2>&1)
else
  output=$(tsx "$1" 2>&1)
fi
code=$?
printf '== %s\n%s\n' "$1" "$output"
exit $code
