import { Command, type ParseOptionsResult } from 'commander'
import { keyIn } from '../src/records/key-in.ts'

/**
 * A command that takes a key where a person types one, also one that begins with a hyphen: of 64 keys one does. Elsewhere such a word is an
 * option.
 */
export class KeyCommand extends Command {
  override createCommand(name?: string): Command {
    return new KeyCommand(name)
  }

  override parseOptions(words: string[]): ParseOptionsResult {
    // The words of a command below are parsed by that one.
    if (this.commands.length > 0) return super.parseOptions(words)
    const end = words.includes('--') ? words.indexOf('--') : words.length
    const isByKey = words.slice(0, end).includes('--key') && !this.#takesValue('--key')
    const isKey = (word: string, at: number): boolean =>
      at < end && isKeyWord(word, isByKey) && !this.#takesValue(words[at - 1])
    const { operands, unknown } = super.parseOptions(words.filter((word, at) => !isKey(word, at)))
    return { operands: [...operands, ...words.filter(isKey)], unknown }
  }

  #takesValue(word: string | undefined): boolean {
    const option = this.options.find(({ long, short }) => word !== undefined && [long, short].includes(word))
    return option !== undefined && (option.required || option.optional)
  }
}

/** Options are lower-case words. `isByKey`: the first characters of a key will do. */
function isKeyWord(word: string, isByKey: boolean): boolean {
  if (!word.startsWith('-') || /^--?[a-z][a-z-]*$/.test(word)) return false
  return keyIn(word) !== undefined || (isByKey && BEGINNING.test(word))
}

/** None that may be an option with a mistake in it. */
const BEGINNING = /^-[\w-]{3,}$/
