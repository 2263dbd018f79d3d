# npm run test:node -- VERSION [paths and options of Jest]: tests on another Node, from the npm package `node`.
case $1 in
  [0-9]*) version=$1 && shift ;;
  *) echo 'usage: npm run test:node -- VERSION [paths and options of Jest], such as 26 test/unit' >&2 && exit 2 ;;
esac
# The programs that tests start are on it too: npx puts it first in PATH.
exec npx --yes --package="node@$version" -- node node_modules/jest/bin/jest.js "$@"
