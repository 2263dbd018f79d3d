import { createInterface } from 'node:readline/promises'
import { CommandError, EXIT } from './exit.ts'

/**
 * Asks a person to type `words` before anything is changed.
 *
 * @throws CommandError, exit 3: not typed, or no terminal
 */
export async function confirm(words: string, isSure: boolean): Promise<void> {
  if (isSure) return
  if (!process.stdin.isTTY) {
    throw new CommandError(
      EXIT.refused,
      'nothing was changed: no terminal to confirm on; look at the preview, then add --yes',
    )
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const typed = await terminal.question(`Type "${words}" to go on: `)
    if (typed.trim() === words) return
  } finally {
    terminal.close()
  }
  throw new CommandError(EXIT.refused, 'nothing was changed: what was typed is something else')
}
