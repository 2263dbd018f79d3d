import type { SequenceLedger, SourceKey, SourceSwap } from '../../src/internal.ts'
import type { KeyNames } from './records/key-names.ts'
import type { ScriptLine } from './calls/script-line.ts'
import { READ_SOURCES, SWAP_SOURCES } from './scripts/sequences.ts'
import { wholeMs } from './records/whole-ms.ts'

/** A text that is no record of a source, for a value that is no text. */
const UNREADABLE = '?'

/** Sources beside the records. All keys of a source are in its slot: they begin with it. */
export class RedisSequenceLedger implements SequenceLedger {
  readonly sharesSources = true
  readonly #names: KeyNames
  readonly #line: ScriptLine

  constructor(names: KeyNames, line: ScriptLine) {
    this.#names = names
    this.#line = line
  }

  async read(_scope: string, sources: readonly SourceKey[]): Promise<readonly (string | undefined)[]> {
    const answers = await this.#line.run({
      script: READ_SOURCES,
      items: sources.map((source) => ({ key: source })),
      argumentsOf: () => [],
      read: (answer) => (/^[-+?]/.test(answer) ? answer : undefined),
    })
    return answers.map((answer) => {
      if (answer.startsWith('+')) return answer.slice(1)
      return answer === '-' ? undefined : UNREADABLE
    })
  }

  swap(_scope: string, swaps: readonly SourceSwap[]): Promise<readonly boolean[]> {
    return this.#line.run({
      script: SWAP_SOURCES,
      items: swaps.map((swap) => ({ ...swap, key: swap.source })),
      addKeys: (words, part) => {
        for (const { removed } of part) words.push(...removed.map((key) => this.#names.of(key)))
      },
      argumentsOf: (part) => [
        part.length,
        ...part.flatMap(({ from = '', to, keepMs, removed }) => [from, to, wholeMs(keepMs), removed.length]),
      ],
      read: (answer) => (answer === 'swapped' ? true : answer === 'changed' ? false : undefined),
      durable: true,
    })
  }
}
