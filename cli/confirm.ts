import { createInterface } from 'node:readline/promises'
import { refusal } from './exit.ts'

/** Asks a person on a terminal a question that can be answered with no. Elsewhere the answer is no. */
export async function agrees(question: string): Promise<boolean> {
  return process.stdin.isTTY && /^y(es)?$/i.test(await asked(`${question} [y/N] `))
}

/**
 * Asks a person to type `words` before anything is changed.
 *
 * @throws CommandError, exit 3: not typed, or no terminal
 */
export async function confirm(words: string, isSure: boolean): Promise<void> {
  if (isSure) return
  if (!process.stdin.isTTY) {
    throw refusal('nothing was changed: no terminal to confirm on; look at the preview, then add --yes')
  }
  if ((await asked(`Type "${words}" to go on: `)) === words) return
  throw refusal('nothing was changed: what was typed is something else')
}

/** Ctrl-C and the end of the input are an empty answer. */
export async function asked(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await new Promise((resolve) => {
      terminal.once('SIGINT', () => terminal.close())
      terminal.once('close', () => resolve(''))
      void terminal.question(question).then((answer) => resolve(answer.trim()))
    })
  } finally {
    terminal.close()
  }
}
