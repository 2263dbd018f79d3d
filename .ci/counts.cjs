/**
 * Reads what jest --json has written. `failed FILE`: paths of failed test files. `files FILE`: the number of test files by folder.
 * `sum FOLDER`: counts of all runs.
 */
const { readdirSync, readFileSync } = require('node:fs')
const path = require('node:path')
const [what, place] = process.argv.slice(2)

const read = (file) => JSON.parse(readFileSync(file, 'utf8'))
/** A suite that did not even load has failed, though none of its tests was counted. */
const failedFiles = ({ testResults }) => testResults.filter(({ status }) => status === 'failed').map(({ name }) => name)

if (what === 'failed') {
  for (const file of failedFiles(read(place))) console.log(file)
} else if (what === 'files') {
  const folders = new Map()
  for (const { name } of read(place).testResults) {
    const folder = path.dirname(path.relative(process.cwd(), name))
    folders.set(folder, (folders.get(folder) ?? 0) + 1)
  }
  const told = [...folders].toSorted(([one], [other]) => one.localeCompare(other))
  console.log(`  test files of the laboratory: ${told.map(([folder, count]) => `${folder} ${count}`).join(', ')}`)
} else {
  const names = readdirSync(place)
  let [passed, failed, skipped] = [0, 0, 0]
  const onlyAlone = []
  for (const name of names.filter((one) => !one.endsWith('-alone.json'))) {
    const first = read(`${place}/${name}`)
    const again = names.find((one) => one === name.replace('.json', '-alone.json'))
    const failedFirst = first.numFailedTests + first.numRuntimeErrorTestSuites
    passed += first.numPassedTests
    skipped += first.numPendingTests
    if (again === undefined) {
      failed += failedFirst
      continue
    }
    const alone = read(`${place}/${again}`)
    const failedAlone = alone.numFailedTests + alone.numRuntimeErrorTestSuites
    failed += failedAlone
    passed += Math.max(0, failedFirst - failedAlone)
    const stillFailed = new Set(failedFiles(alone))
    onlyAlone.push(...failedFiles(first).filter((one) => !stillFailed.has(one)))
  }
  if (onlyAlone.length > 0) {
    console.log(
      `\n${'!'.repeat(80)}\nTHE SECOND CHANCE WAS USED. These files failed, and passed only when they ran again, alone:`,
    )
    for (const file of onlyAlone) console.log(`  ${file}`)
    console.log(`Each is to be repaired.\n${'!'.repeat(80)}`)
  }
  console.log(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
}
