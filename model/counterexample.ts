/** The path to what a search found: the printed steps of the processes, and the law that was broken at the end. */
export interface Counterexample {
  readonly law: string
  readonly steps: readonly string[]
}

/** From the output of a replay, in which a line of the source is what Spin gives for an assertion. */
export function readReplay(output: string, source: readonly string[]): Counterexample {
  const failed = /^spin: \S+?:(\d+), Error: assertion violated/m.exec(output)?.[1]
  const steps = output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('> ') || line.includes('START OF CYCLE'))
    .map((line) => line.replace(/^> /, '').replaceAll(/<+|>+/g, '').trim())
  return { law: failed === undefined ? lawWithoutLine(output) : lawAt(source, Number(failed)), steps }
}

function lawAt(source: readonly string[], line: number): string {
  const text = source[line - 1] ?? ''
  return /LAW\((\w+)/.exec(text)?.[1] ?? `an assertion without a name: ${text.trim()}`
}

function lawWithoutLine(output: string): string {
  return /^ltl (\w+):/m.exec(output)?.[1] ?? 'no deadlock'
}
